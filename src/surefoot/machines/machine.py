"""The record of a machine: probed or from the catalog, whole or with parts that are unknown.

A part that could not be learned is None, and `unknown` says why; it is never taken for "nothing there".
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import msgspec

from surefoot.errors import UnknownError
from surefoot.machines.parts import (
    Accelerators,
    Disk,
    Gpu,
    HubCache,
    Isolation,
    Limits,
    Memory,
    Network,
    Processor,
    Runtime,
    System,
)

__all__ = ["PARTS", "Machine", "Origin", "Unknown", "machine_from_parts"]


class Origin(StrEnum):
    """Whether a machine was asked itself or is planned for from the catalog."""

    PROBED = "probed"
    CATALOG = "catalog"


@dataclass(frozen=True)
class Unknown:
    """A part that could not be learned, and why."""

    part: str
    reason: str


@dataclass(frozen=True)
class Machine:
    """A machine: `name` is the host that was asked, or the catalog's name, which comes with `sources`."""

    name: str
    origin: Origin
    system: System | None = None
    processor: Processor | None = None
    memory: Memory | None = None
    limits: Limits | None = None
    isolation: Isolation | None = None
    accelerators: Accelerators | None = None
    disks: tuple[Disk, ...] | None = None
    hub: HubCache | None = None
    runtimes: tuple[Runtime, ...] | None = None
    network: Network | None = None
    environment: dict[str, str] | None = None
    unknown: tuple[Unknown, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs, none on a host without. Raises `UnknownError` when they could not be learned."""
        if self.accelerators is None:
            raise UnknownError(f"the GPUs of {self.name} are unknown: {self.why_unknown('accelerators')}")
        return self.accelerators.gpus

    def disk(self, role: str) -> Disk | None:
        """The disk behind `hub cache`, `model folder`, `docker root`, `temporary files` or `home`."""
        return next((disk for disk in self.disks or () if disk.role == role), None)

    def why_unknown(self, part: str) -> str:
        """Why a part is unknown."""
        return next((entry.reason for entry in self.unknown if entry.part == part), "it was not asked for")


PARTS = tuple(field.name for field in fields(Machine) if field.name not in ("name", "origin", "unknown", "sources"))
"""The fields of `Machine` that a probe fills."""


def machine_from_parts(name: str, answers: dict[str, Any]) -> Machine:
    """Type the probe's answers, part by part: an answer that makes no sense leaves its part unknown."""
    learned: dict[str, Any] = {}
    unknown: list[Unknown] = []
    for part in PARTS:
        answer = answers.get(part)
        if not isinstance(answer, dict) or ("value" not in answer and "unknown" not in answer):
            unknown.append(Unknown(part, "the probe said nothing about it"))
        elif "unknown" in answer:
            unknown.append(Unknown(part, str(answer["unknown"])))
        else:
            try:
                learned[part] = getattr(
                    msgspec.convert({"name": name, "origin": "probed", part: answer["value"]}, Machine), part
                )
            except msgspec.ValidationError as error:
                unknown.append(Unknown(part, f"the probe's answer makes no sense: {error}"))
    return Machine(name=name, origin=Origin.PROBED, unknown=tuple(unknown), **learned)
