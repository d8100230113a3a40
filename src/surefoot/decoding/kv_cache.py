"""A static key-value cache: rows are appended, and after a verification only the accepted ones are kept."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from surefoot.errors import UsageError


class LayerRows(Protocol):
    """What one layer of a model asks of a cache."""

    def write(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store new rows [new, kv_heads, head_dim]; the keys and values to attend to, [kv_heads, seen, head_dim]."""
        ...


class KeyValueRows(Protocol):
    """What a model asks of a cache: the rows of each layer."""

    def layer(self, index: int) -> LayerRows: ...


class KVCache:
    """Keys and values of all layers, `rows` [layers, 2, kv_heads, capacity, head_dim]; `length` rows are valid."""

    def __init__(
        self,
        layers: int,
        kv_heads: int,
        head_dim: int,
        capacity: int,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self.rows = torch.zeros(layers, 2, kv_heads, capacity, head_dim, device=device, dtype=dtype)
        self.capacity = capacity
        self.length = 0

    def layer(self, index: int) -> AppendedRows:
        return AppendedRows(self.rows[index], self.length)

    def commit(self, accepted: list[int]) -> None:
        """Keep the appended rows whose indices (ascending, counted from `length`) are `accepted`."""
        if accepted != list(range(len(accepted))):
            source = torch.tensor(accepted, device=self.rows.device) + self.length
            kept = self.rows.index_select(3, source)
            self.rows[:, :, :, self.length : self.length + len(accepted)] = kept
        self.length += len(accepted)


class AppendedRows:
    """One layer's `rows` [2, kv_heads, capacity, head_dim]; new ones are written behind the `length` valid ones."""

    def __init__(self, rows: Tensor, length: int) -> None:
        self.rows, self.length = rows, length

    def write(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        end, capacity = self.length + keys.shape[0], self.rows.shape[2]
        if end > capacity:
            raise UsageError(f"{end} tokens do not fit into a KV cache of {capacity}")
        self.rows[0, :, self.length : end] = keys.transpose(0, 1)
        self.rows[1, :, self.length : end] = values.transpose(0, 1)
        return self.rows[0, :, :end], self.rows[1, :, :end]


class SlottedRows:
    """The rows of a `KVCache` addressed by `slots` [new] that live on the device, so that a CUDA graph can replay it.

    Attention sees all `capacity` rows; the caller's mask hides those that are not valid.
    """

    def __init__(self, cache: KVCache, slots: Tensor) -> None:
        self.rows, self.slots = cache.rows, slots

    def layer(self, index: int) -> SlottedLayer:
        return SlottedLayer(self.rows[index], self.slots)


class SlottedLayer:
    """One layer's `rows` [2, kv_heads, capacity, head_dim]; new ones are written at `slots`."""

    def __init__(self, rows: Tensor, slots: Tensor) -> None:
        self.rows, self.slots = rows, slots

    def write(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        self.rows[0].index_copy_(1, self.slots, keys.transpose(0, 1))
        self.rows[1].index_copy_(1, self.slots, values.transpose(0, 1))
        return self.rows[0], self.rows[1]
