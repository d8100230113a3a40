"""Bytes that must be free: at rest and at the peak of downloading, held against each file system.

A plain download into the hub cache writes each file once, as a partial file that is renamed, so its peak is
what is still missing; Xet keeps chunks beside it, a second copy in a model folder counts again, and a container
image lies where the container runtime keeps its images.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefoot.checkpoints.checkpoint import Checkpoint
from surefoot.errors import UsageError
from surefoot.evidence import Fact, Finding, Level, Method
from surefoot.machines import Disk, Machine, Origin
from surefoot.preflight.case import Case
from surefoot.units import both, parse_bytes

XET_CHUNKS = 10 * 10**9
"""Default capacity of the Xet chunk cache, where that cache is built in (`HF_XET_CHUNK_CACHE_SIZE_BYTES`)."""
MARGIN = 0.02
"""Share of the download that should stay free beside it."""


@dataclass(frozen=True)
class DiskNeed:
    """What one file system must take: `rest` bytes stay, `peak` are needed while downloading."""

    role: str
    path: str | None
    free: int | None
    rest: int
    peak: int
    parts: tuple[tuple[str, int], ...]

    @property
    def left(self) -> int | None:
        """Free bytes at the peak; None when free space is unknown."""
        return None if self.free is None else self.free - self.peak


@dataclass(frozen=True)
class DiskPlan:
    """Where files go: `copies` more of the weights in the model folder, an image of so many bytes."""

    free: tuple[int, ...] = ()
    margin: float = MARGIN
    model_folder: bool = False
    image: int = 0


def read_free(text: str) -> tuple[int, ...]:
    """Free bytes meant by `593 GB`, `593 GiB`; both readings of a bare `593` or `593G`. Raises `UsageError`."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGTP]?)\s*", text, re.IGNORECASE)
    if match is None:
        return (parse_bytes(text),)
    unit = match.group(2).upper() or "G"
    if float(match.group(1)) == 0:
        raise UsageError("no space is free", remedy="write it like '593 GB' (10^9) or '593 GiB' (2^30)")
    return parse_bytes(f"{match.group(1)} {unit}B"), parse_bytes(f"{match.group(1)} {unit}iB")


def disk_needs(case: Case, plan: DiskPlan) -> tuple[DiskNeed, ...]:
    """What each file system must take, places on the same file system added up."""
    machine = case.host.machine
    parts: dict[str, list[tuple[str, int, int]]] = {}
    missing = 0
    for checkpoint, revision in _checkpoints(case):
        cached = _cached(machine, checkpoint, revision)
        rest = max(0, checkpoint.download_bytes - cached)
        missing += rest
        parts.setdefault(_place(machine, "hub cache"), []).append((checkpoint.reference, rest, rest))
        if plan.model_folder:
            size = checkpoint.download_bytes
            parts.setdefault(_place(machine, "model folder"), []).append(
                (f"copy of {checkpoint.reference}", size, size)
            )
    if missing and any(checkpoint.origin == "hub" for checkpoint, _ in _checkpoints(case)):
        parts[_place(machine, "hub cache")].append(("Xet chunk cache", 0, XET_CHUNKS))
    if plan.image:
        parts.setdefault(_place(machine, "docker root"), []).append(("container image", plan.image, plan.image))
    found = []
    for place, entries in parts.items():
        role, disk = place.partition("|")[0], _disk(machine, place)
        found.append(
            DiskNeed(
                role=role,
                path=disk.path if disk else None,
                free=disk.free if disk else None,
                rest=sum(entry[1] for entry in entries),
                peak=sum(entry[2] for entry in entries),
                parts=tuple((name, peak) for name, _, peak in entries if peak),
            )
        )
    return tuple(found)


def judge_disk(case: Case, plan: DiskPlan) -> tuple[Finding, ...]:
    """One finding for each file system, and for each reading of an ambiguous size."""
    seen = case.host.machine.origin is not Origin.CATALOG
    return tuple(finding for need in disk_needs(case, plan) for finding in _judge(need, plan, seen))


def _judge(need: DiskNeed, plan: DiskPlan, seen: bool) -> Iterator[Finding]:
    facts = [Fact(name, size, "sizes of the files", Method.COMPUTED) for name, size in need.parts]
    if need.peak == 0:
        yield Finding(Level.OK, "disk-nothing-to-fetch", "everything is in the hub cache already", tuple(facts))
        return
    readings = plan.free or (() if need.free is None else (need.free,))
    if not readings:
        message = f"the {need.role} must take {both(need.peak)}; how much is free there is unknown"
        level = Level.UNKNOWN if seen else Level.WARNING
        yield Finding(level, "disk-unknown", message, tuple(facts), "surefoot probe HOST, or --disk-free 'N GB'")
    fitting = [free for free in readings if free >= need.peak]
    for free in readings:
        other = next((size for size in fitting if size != free), None)
        yield _one(need, free, plan.margin, facts, read_as=len(readings) > 1, other=other)


def _one(need: DiskNeed, free: int, margin: float, facts: list[Fact], *, read_as: bool, other: int | None) -> Finding:
    evidence = (*facts, Fact("free", free, need.path or "--disk-free", Method.MEASURED))
    where = f"{need.role} ({need.path})" if need.path else need.role
    reading = f"read as {both(free)}: " if read_as else ""
    keep = int(need.peak * margin)
    if free < need.peak:
        message = f"{reading}{where} lacks {both(need.peak - free)}: {both(need.peak)} to fetch, {both(free)} free"
        message += f"; were it {both(other)}, it would fit" if other is not None else ""
        remedy = f"free {both(need.peak - free + keep)}, or set HF_HOME to a larger file system"
        return Finding(Level.BLOCKER, "disk-too-small", message, evidence, remedy)
    if free - need.peak < keep:
        message = f"{reading}{where} fits with only {both(free - need.peak)} to spare of the {both(keep)} wanted"
        return Finding(Level.WARNING, "disk-tight", message, evidence, f"free {both(keep - free + need.peak)} more")
    message = f"{reading}{where} takes {both(need.peak)} and keeps {both(free - need.peak)} free"
    return Finding(Level.OK, "disk-fits", message, evidence)


def _checkpoints(case: Case) -> Iterator[tuple[Checkpoint, str | None]]:
    for checkpoint in (case.target, case.drafter):
        if checkpoint is not None and checkpoint.origin not in ("folder", "gguf", "config file"):
            yield checkpoint, checkpoint.revision


def _cached(machine: Machine, checkpoint: Checkpoint, revision: str | None) -> int:
    """Bytes of this checkpoint that the machine's hub cache holds already."""
    for model in machine.hub.models if machine.hub else ():
        if model.repo.lower() != checkpoint.reference.lower():
            continue
        fitting = [entry for entry in model.revisions if revision is None or entry.commit == revision]
        return max((entry.bytes for entry in fitting), default=0) + model.partial_bytes
    return 0


def _disk(machine: Machine, place: str) -> Disk | None:
    return machine.disk(place.partition("|")[0])


def _place(machine: Machine, role: str) -> str:
    """Role and file system: two roles on one file system are one place."""
    disk = machine.disk(role)
    if disk is None or disk.mount_point is None:
        return role
    first = next(entry for entry in machine.disks or () if entry.mount_point == disk.mount_point)
    return f"{first.role}|{disk.mount_point}"
