"""Where the bytes are: by part, by stored type, by format; and how many parameters that makes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from surefoot.checkpoints.architecture import Architecture
from surefoot.checkpoints.components import TEXT, Component, shares
from surefoot.checkpoints.held import Held, held_formats
from surefoot.checkpoints.snapshot import Snapshot


@dataclass(frozen=True)
class Slice:
    """A part of the weights. `parameters` are logical ones: four-bit pairs count twice, scales not at all."""

    name: str
    bytes: int
    tensors: int
    parameters: int


@dataclass(frozen=True)
class FormatSlice:
    """What is stored in one format: its bytes, the components it covers, and one tensor that shows it."""

    format: str
    bytes: int
    group_size: int | None
    components: tuple[str, ...]
    example: str


@dataclass(frozen=True)
class Weights:
    """Sizes in bytes. `file_bytes` is that of the weight files, `bytes` that of the tensors in them.

    `text_parameters` leaves out vision, MTP and scales; `active_parameters` counts of the routed experts only
    those that one token meets. Both are None when no header was read."""

    files: int
    file_bytes: int
    bytes: int
    tensors: int
    components: tuple[Slice, ...]
    dtypes: tuple[Slice, ...]
    formats: tuple[FormatSlice, ...]
    parameters: int | None
    text_parameters: int | None
    active_parameters: int | None

    def component(self, name: Component) -> Slice | None:
        """The slice of one component, None when the model has no such part."""
        return next((entry for entry in self.components if entry.name == name), None)


def weigh(snapshot: Snapshot, model: Architecture, file_bytes: int, files: int, bits: int | None) -> Weights:
    """Add the tensors up. `bits` is the integer width the config claims (see `held_formats`)."""
    held = held_formats(snapshot.tensors, bits)
    sums: dict[Component, list[int]] = defaultdict(lambda: [0, 0, 0])
    dtypes: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    formats: dict[str, list[tuple[Held, int, set[str]]]] = defaultdict(list)
    for group in snapshot.tensors:
        form = held.get(group)
        logical = group.elements * form.packed if form else 0
        parts = shares(group, len(model.layers))
        for component, count in parts.items():
            _add(
                sums[component],
                group.size * count,
                count,
                0 if component is Component.SCALES else logical * count,
            )
        _add(dtypes[group.dtype], group.bytes, group.count, logical * group.count)
        if form:
            formats[form.format].append((form, group.bytes, {str(part) for part in parts}))
    text = sum(numbers[2] for part, numbers in sums.items() if part in TEXT)
    known = bool(snapshot.tensors)
    return Weights(
        files=files,
        file_bytes=file_bytes,
        bytes=sum(numbers[0] for numbers in sums.values()),
        tensors=sum(numbers[1] for numbers in sums.values()),
        components=_slices({str(part): numbers for part, numbers in sums.items()}),
        dtypes=_slices(dtypes),
        formats=_formats(formats),
        parameters=sum(numbers[2] for numbers in sums.values()) if known else None,
        text_parameters=text if known else None,
        active_parameters=_active(text, sums[Component.EXPERTS][2], model) if known else None,
    )


def _add(numbers: list[int], size: int, tensors: int, parameters: int) -> None:
    numbers[0] += size
    numbers[1] += tensors
    numbers[2] += parameters


def _slices(sums: dict[str, list[int]]) -> tuple[Slice, ...]:
    entries = (Slice(name, *numbers) for name, numbers in sums.items() if numbers[1])
    return tuple(sorted(entries, key=lambda entry: -entry.bytes))


def _formats(found: dict[str, list[tuple[Held, int, set[str]]]]) -> tuple[FormatSlice, ...]:
    slices = []
    for name, members in found.items():
        largest = max(members, key=lambda member: member[1])
        parts = set[str]().union(*(member[2] for member in members))
        total = sum(member[1] for member in members)
        slices.append(FormatSlice(name, total, largest[0].group_size, tuple(sorted(parts)), largest[0].why))
    return tuple(sorted(slices, key=lambda entry: -entry.bytes))


def _active(text: int, routed: int, model: Architecture) -> int | None:
    if model.moe is None:
        return text if not routed else None
    if model.moe.top_k is None:
        return None
    return text - routed + routed * model.moe.top_k // model.moe.experts
