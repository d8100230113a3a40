"""The catalog of known machines: one can plan for a machine one does not have.

Each entry is a TOML file in `known/` with its sources. What depends on the single host (RAM, disks,
what is installed) is not in the catalog and stays unknown.
"""

from __future__ import annotations

import difflib
import tomllib
from importlib.resources import files
from itertools import combinations
from typing import Any

import msgspec

from surefoot.errors import InputError, UsageError
from surefoot.machines.machine import PARTS, Machine, Origin, Unknown
from surefoot.machines.parts import Accelerators, Gpu, GpuLink, Memory

_SINGLE_HOST = "the catalog says nothing about the single host"
_KNOWN = files("surefoot.machines") / "known"


def catalog_names() -> tuple[str, ...]:
    """The names of all known machines, sorted."""
    return tuple(sorted(e.name.removesuffix(".toml") for e in _KNOWN.iterdir() if e.name.endswith(".toml")))


def known_machine(name: str) -> Machine:
    """The catalog's machine `name`, such as `rtx-pro-6000x8`. Raises `UsageError` when there is none."""
    if name not in catalog_names():
        close = difflib.get_close_matches(name, catalog_names(), n=3, cutoff=0.5) or catalog_names()
        raise UsageError(f"no machine {name!r} in the catalog", remedy=f"one of {', '.join(close)}")
    try:
        return _machine(name, tomllib.loads((_KNOWN / f"{name}.toml").read_text(encoding="utf-8")))
    except (KeyError, TypeError, msgspec.ValidationError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the catalog entry {name} is damaged: {error}") from error


def datasheet_bandwidth(gpu: Gpu) -> int | None:
    """Memory bandwidth of a GPU in bytes a second: its own entry, or that of the catalog's GPU of the same name."""
    if gpu.memory_bandwidth is not None:
        return gpu.memory_bandwidth
    for name in catalog_names():
        known = known_machine(name).gpus[0]
        if known.name == gpu.name:
            return known.memory_bandwidth
    return None


def _machine(name: str, entry: dict[str, Any]) -> Machine:
    count = entry["gpus"]
    mib = entry["gpu"].pop("memory_mib", None)
    memory = None if mib is None else mib * 2**20
    gpus = tuple(
        msgspec.convert({"index": index, "memory_total": memory, **entry["gpu"]}, Gpu) for index in range(count)
    )
    links = tuple(msgspec.convert({"a": a, "b": b, **entry["link"]}, GpuLink) for a, b in combinations(range(count), 2))
    ram = msgspec.convert(entry["memory"], Memory) if "memory" in entry else None
    told = {"accelerators"} if ram is None else {"accelerators", "memory"}
    return Machine(
        name=name,
        origin=Origin.CATALOG,
        memory=ram,
        accelerators=Accelerators(source="catalog", gpus=gpus, links=links),
        unknown=tuple(Unknown(part, _SINGLE_HOST) for part in PARTS if part not in told),
        sources=tuple(entry["sources"]),
    )
