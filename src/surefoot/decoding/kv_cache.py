"""A static key-value cache: rows are appended, and after a verification only the accepted ones are kept."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from surefoot.errors import UsageError


class KeyValueRows(Protocol):
    """What a model's layers ask of a cache."""

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store new rows [new, kv_heads, head_dim]; the keys and values to attend to, [kv_heads, seen, head_dim]."""
        ...


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

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Put rows [new, kv_heads, head_dim] behind the valid ones, without making them valid.

        Returns views of the layer's keys and values, [kv_heads, length + new, head_dim].
        """
        end = self.length + keys.shape[0]
        if end > self.capacity:
            raise UsageError(f"{end} tokens do not fit into a KV cache of {self.capacity}")
        rows = self.rows[layer]
        rows[0, :, self.length : end] = keys.transpose(0, 1)
        rows[1, :, self.length : end] = values.transpose(0, 1)
        return rows[0, :, :end], rows[1, :, :end]

    def commit(self, accepted: list[int]) -> None:
        """Keep the appended rows whose indices (ascending, counted from `length`) are `accepted`."""
        if accepted != list(range(len(accepted))):
            source = torch.tensor(accepted, device=self.rows.device) + self.length
            kept = self.rows.index_select(3, source)
            self.rows[:, :, :, self.length : self.length + len(accepted)] = kept
        self.length += len(accepted)


class SlottedRows:
    """The rows of a `KVCache` addressed by `slots` [new] that live on the device, so that a CUDA graph can replay it.

    Attention sees all `capacity` rows; the caller's mask hides those that are not valid.
    """

    def __init__(self, cache: KVCache, slots: Tensor) -> None:
        self.rows, self.slots = cache.rows, slots

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        rows = self.rows[layer]
        rows[0].index_copy_(1, self.slots, keys.transpose(0, 1))
        rows[1].index_copy_(1, self.slots, values.transpose(0, 1))
        return rows[0], rows[1]
