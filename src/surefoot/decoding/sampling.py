"""The target's choice of a token: argmax, or a draw by inverse CDF from numbers fixed by the seed.

The number for the i-th token of an answer depends on the seed and i alone. So the same seed gives the same
answer under every strategy, and a drafted tree never depends on the numbers that verify it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot.decoding.rounds import Sampling


class Sampler:
    """Chooses tokens of one answer."""

    def __init__(self, sampling: Sampling) -> None:
        self.temperature = sampling.temperature
        generator = torch.Generator().manual_seed(sampling.seed)
        self.uniform = torch.rand(sampling.max_tokens + 1025, generator=generator, dtype=torch.float64)

    def choose(self, logits: Tensor, index: int) -> int:
        """The `index`-th token of the answer, from `logits` [vocab]."""
        if self.temperature == 0:
            return int(logits.argmax())
        cumulative = torch.softmax(logits.double() / self.temperature, -1).cumsum(-1)
        threshold = self.uniform[index].to(cumulative.device) * cumulative[-1]
        return min(int(torch.searchsorted(cumulative, threshold, right=True)), logits.shape[0] - 1)
