"""Names, shapes, stored types and sizes of tensors, kept small by folding numbered names together.

A model with 384 experts in 60 layers has 200,000 tensors and a few dozen kinds of them. A `TensorGroup` is
one kind: a name with `{}` for each number, and the numbers it takes. Nothing is lost: `names` has all.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from surefoot.checkpoints.dtypes import BITS
from surefoot.errors import InputError

_NUMBER = re.compile(r"(?<![^.])(?:0|[1-9]\d{0,8})(?![^.])")
_SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
Box = tuple[str, ...]
"""Values of each number in a name, as ranges: `("1-60", "0-383")` is every pair of the two."""


@dataclass(frozen=True)
class Tensor:
    """One tensor as a header declares it; `dtype` and `shape` as stored, `size` in bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int


@dataclass(frozen=True)
class TensorGroup:
    """Tensors that differ in the numbers of their name only. `size` is that of one, in bytes. Without boxes
    the name is meant as it stands."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    boxes: tuple[Box, ...] = ()

    @property
    def count(self) -> int:
        """Number of tensors."""
        return sum(prod(_length(ranges) for ranges in box) for box in self.boxes) if self.boxes else 1

    @property
    def bytes(self) -> int:
        """Bytes of all of them."""
        return self.size * self.count

    @property
    def elements(self) -> int:
        """Stored elements of one (packed words count as one)."""
        return prod(self.shape)

    def names(self) -> Iterator[str]:
        """Every name, in numeric order within a box."""
        if not self.boxes:
            yield self.name
            return
        parts = self.name.split("{}")
        for box in self.boxes:
            for numbers in itertools.product(*(list(expand(ranges)) for ranges in box)):
                yield "".join(map("".join, zip(parts, [*map(str, numbers), ""], strict=True)))

    def split(self, position: int, bound: int) -> tuple[int, int]:
        """How many tensors have their number at `position` below `bound`, and how many not."""
        below = above = 0
        for box in self.boxes:
            spans = _spans(box[position])
            low = sum(max(0, min(last, bound - 1) - first + 1) for first, last in spans)
            others = prod(_length(ranges) for i, ranges in enumerate(box) if i != position)
            below += low * others
            above += (_length(box[position]) - low) * others
        return below, above

    def check(self) -> None:
        """Raise `InputError` unless every box has as many well-formed ranges as the name has numbers."""
        for box in self.boxes:
            if len(box) != self.name.count("{}"):
                raise InputError(f"tensor group {self.name[:200]!r} has a box of {len(box)} ranges")
            for ranges in box:
                _spans(ranges)


def expand(ranges: str) -> Iterator[int]:
    """The numbers of `0-2,5`: 0, 1, 2, 5."""
    for first, last in _spans(ranges):
        yield from range(first, last + 1)


def _spans(ranges: str) -> list[tuple[int, int]]:
    spans = []
    for part in ranges.split(","):
        match = _SPAN.fullmatch(part)
        if match is None:
            raise InputError(f"not a range of numbers: {part[:40]!r}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InputError(f"not a range of numbers: {part[:40]!r}")
        spans.append((first, last))
    return spans


def _length(ranges: str) -> int:
    return sum(last - first + 1 for first, last in _spans(ranges))


def _ranges(numbers: Iterable[int]) -> str:
    """The inverse of `expand`, for sorted numbers without repeats."""
    parts: list[str] = []
    start = previous = None
    for number in [*numbers, None]:
        if previous is not None and (number is None or number != previous + 1):
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = number
        elif previous is None:
            start = number
        previous = number
    return ",".join(parts)


def fold(tensors: Iterable[Tensor]) -> tuple[TensorGroup, ...]:
    """Group tensors (names without repeats) by name pattern, type and shape, in order of first appearance."""
    kinds: dict[tuple[str, str, tuple[int, ...], int, bool], set[tuple[int, ...]]] = {}
    for tensor in tensors:
        found = [] if "{}" in tensor.name else _NUMBER.findall(tensor.name)
        name = _NUMBER.sub("{}", tensor.name) if found else tensor.name
        kind = (name, tensor.dtype, tensor.shape, tensor.size, bool(found))
        kinds.setdefault(kind, set()).add(tuple(map(int, found)))
    return tuple(
        TensorGroup(name, dtype, shape, size, tuple(_boxes(sorted(numbers))) if numbered else ())
        for (name, dtype, shape, size, numbered), numbers in kinds.items()
    )


def _boxes(numbers: list[tuple[int, ...]]) -> Iterator[Box]:
    """Exact cover of sorted number tuples by boxes: equal tails are merged under a range of heads."""
    if len(numbers[0]) == 1:
        yield (_ranges(number for (number,) in numbers),)
        return
    tails: dict[tuple[Box, ...], list[int]] = {}
    for head, group in itertools.groupby(numbers, key=lambda entry: entry[0]):
        tail = tuple(_boxes([entry[1:] for entry in group]))
        tails.setdefault(tail, []).append(head)
    for tail, heads in tails.items():
        for box in tail:
            yield (_ranges(heads), *box)


def declared_size(dtype: str, shape: tuple[int, ...]) -> int | None:
    """Bytes of a tensor of that type and shape, None for an unknown type."""
    bits = BITS.get(dtype)
    return None if bits is None else -(-prod(shape) * bits // 8)
