"""What decoding asks of a target model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from surefoot.decoding.kv_cache import KeyValueRows, KVCache


@dataclass(frozen=True)
class TargetOutput:
    """`logits` [rows, vocab] of the rows asked for; `taps` [rows, taps * hidden], all rows, or None."""

    logits: Tensor
    taps: Tensor | None


class Target(Protocol):
    """A causal language model that verifies draft trees in one forward."""

    hidden_size: int
    vocab_size: int
    num_layers: int
    context_length: int
    device: torch.device
    dtype: torch.dtype

    def new_cache(self, capacity: int) -> KVCache:
        """An empty cache for one request of up to `capacity` tokens."""
        ...

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor,
        cache: KeyValueRows,
        mask: Tensor | None,
        *,
        tap_layers: Sequence[int] = (),
        last_only: bool = False,
    ) -> TargetOutput:
        """Run `tokens` [rows] at `positions` [rows] over the rows of `cache`, and write their own into it.

        `mask` [rows, seen] is additive; None lets every row see everything. `tap_layers` are target
        layer ids l whose OUTPUT (Hugging Face `hidden_states[l + 1]`) is returned, concatenated. With
        `last_only`, logits are computed for the last row alone.
        """
        ...

    def embed(self, tokens: Tensor) -> Tensor:
        """Input embeddings [rows, hidden] of `tokens` [rows]."""
        ...

    def head_rows(self) -> Tensor:
        """The weight of the output head, [vocab, hidden], which the drafter shares."""
        ...

    def pack(self, width: int) -> None:
        """Prepare for verifications of exactly `width` rows."""
        ...
