"""The memory of one GPU under a plan, and the window of static fractions that works.

    before loading = free - CUDA context
    static         = before loading x fraction = weights (+ drafter, in engines that count it) + cache
    outside        = before loading x (1 - fraction) >= activations + graphs + masks + logits (+ drafter) + reserve

The lowest fraction holds weights and the cache the workload needs; the highest leaves what runs outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from surefoot.preflight.memory.cache import CacheCost
from surefoot.preflight.memory.parts import Part, total
from surefoot.preflight.memory.pool import Pool
from surefoot.preflight.options import Options, Workload


@dataclass(frozen=True)
class MemoryBudget:
    """Bytes on the fullest GPU. `static` parts are counted inside the fraction, `outside` ones beside it.

    `token_bytes` is what a token takes in the engine's accounting, drafter included. `default_fraction` is
    what the engine would take by itself and `default_tokens` the cache that leaves.
    """

    gpu_bytes: int
    free_bytes: int
    before: int
    static: tuple[Part, ...]
    outside: tuple[Part, ...]
    cache: CacheCost
    pool: Pool
    workload: Workload
    options: Options
    default_fraction: float
    default_tokens: int
    fraction_name: str
    extra_token_bytes: int = 0

    @property
    def weights(self) -> int:
        """Bytes of what is loaded before the cache is sized."""
        return total(self.static)

    @property
    def token_bytes(self) -> int:
        """A token's bytes."""
        return self.pool.token

    @property
    def lowest(self) -> float:
        """The smallest fraction whose cache holds the workload, rounded up to 0.001."""
        return ceil(1000 * (self.weights + self.pool.needed(self.workload.tokens)) / self.before) / 1000

    @property
    def highest(self) -> float:
        """The largest fraction that leaves room for what runs outside, rounded down to 0.001."""
        return floor(1000 * (1 - total(self.outside) / self.before)) / 1000

    @property
    def fits(self) -> bool:
        """Whether any fraction works for the workload."""
        return self.lowest <= self.highest

    @property
    def fraction(self) -> float:
        """The fraction planned: what the options name, else the highest that works."""
        return self.options.memory_fraction or self.highest

    @property
    def max_tokens(self) -> int:
        """Tokens of cache at the planned fraction."""
        return self.tokens_at(self.fraction)

    @property
    def max_requests(self) -> int:
        """Requests of the workload's length that fit at once."""
        return self.max_tokens // self.workload.context

    @property
    def missing(self) -> int:
        """Bytes a GPU lacks for the workload; 0 or less when it fits."""
        return self.weights + self.pool.needed(self.workload.tokens) + total(self.outside) - self.before

    def tokens_at(self, fraction: float) -> int:
        """Tokens of cache under a static fraction."""
        return self.pool.tokens(int(self.before * fraction) - self.weights)
