"""One line of a memory budget: what takes how many bytes of one GPU, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.evidence import Method

MIB = 2**20
GIB = 2**30


@dataclass(frozen=True)
class Part:
    """Bytes on one GPU. `how` is the formula or the source. `assumed` parts are estimates."""

    name: str
    bytes: int
    how: str
    method: Method = Method.COMPUTED


def total(parts: tuple[Part, ...]) -> int:
    """Bytes of all parts."""
    return sum(part.bytes for part in parts)
