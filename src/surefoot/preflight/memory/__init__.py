"""The memory budget of one GPU: weights, cache, overhead, and each engine's own formula."""

from surefoot.preflight.memory.budget import MemoryBudget
from surefoot.preflight.memory.parts import Part, total

__all__ = ["MemoryBudget", "Part", "total"]
