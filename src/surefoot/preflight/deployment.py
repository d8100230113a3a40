"""`surefoot.toml`, the one file of a deployment, and `surefoot.lock.json`, which pins what was found."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

from surefoot import __version__
from surefoot.checkpoints.snapshot import Snapshot, StoredFile
from surefoot.errors import InputError
from surefoot.evidence import Verdict
from surefoot.hosts import Host
from surefoot.preflight.answer import Answer
from surefoot.preflight.options import Options, Workload
from surefoot.records import write_atomic, write_record

FILE = "surefoot.toml"
LOCK = "surefoot.lock.json"


@dataclass(frozen=True)
class ModelEntry:
    """A checkpoint: repository id, folder, GGUF or saved snapshot, and the revision to pin."""

    model: str
    revision: str | None = None


@dataclass(frozen=True)
class MachineEntry:
    """`on` is a host, a machine.json or a name of the catalog; `disk_free` states free space not probed."""

    on: str = "localhost"
    disk_free: str | None = None


@dataclass(frozen=True)
class EngineEntry:
    """The engine to judge, such as `sglang==0.5.23`; nothing takes what the machine has."""

    use: str | None = None


@dataclass(frozen=True)
class StrategiesEntry:
    """Strategies to judge; nothing takes plain, and dflash when there is a drafter."""

    run: tuple[str, ...] = ()


@dataclass(frozen=True)
class Deployment:
    """The sections of `surefoot.toml`. `options` are launch options that the user fixes."""

    target: ModelEntry
    drafter: ModelEntry | None = None
    machine: MachineEntry = field(default_factory=MachineEntry)
    engine: EngineEntry = field(default_factory=EngineEntry)
    strategies: StrategiesEntry = field(default_factory=StrategiesEntry)
    workload: Workload = field(default_factory=Workload)
    options: Options = field(default_factory=Options)


def read_deployment(path: Path) -> Deployment:
    """Read and validate a deployment file.

    Raises:
        InputError: missing, no TOML, an unknown section or key, or a value of the wrong type.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", remedy="surefoot init writes one") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no TOML: {error}") from error
    _refuse_unknown(document, path)
    try:
        return msgspec.convert(document, Deployment)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {error}") from error


_SECTIONS: dict[str, type[Any]] = {
    "target": ModelEntry, "drafter": ModelEntry, "machine": MachineEntry, "engine": EngineEntry,
    "strategies": StrategiesEntry, "workload": Workload, "options": Options,
}  # fmt: skip


def _refuse_unknown(document: dict[str, Any], path: Path) -> None:
    for section, values in document.items():
        if section not in _SECTIONS:
            raise InputError(f"{path} has an unknown section [{section}]", remedy=f"one of {', '.join(_SECTIONS)}")
        known = {entry.name for entry in fields(_SECTIONS[section])}
        for key in values if isinstance(values, dict) else ():
            if key not in known:
                remedy = f"one of {', '.join(sorted(known))}"
                raise InputError(f"{path}: [{section}] has no {key!r}", remedy=remedy)


def write_deployment(path: Path, deployment: Deployment) -> None:
    """Write a deployment as TOML, leaving out what has its default."""
    lines = ["# What to deploy. `surefoot check` judges it and pins what it found in surefoot.lock.json."]
    for section in _SECTIONS:
        entry = getattr(deployment, section)
        if entry is None:
            continue
        kind = _SECTIONS[section]
        set_fields = [
            (known.name, getattr(entry, known.name))
            for known in fields(kind)
            if getattr(entry, known.name) is not None
            and (getattr(entry, known.name) != known.default or known.name in ("model", "on", "context"))
        ]
        if set_fields:
            lines += ["", f"[{section}]", *(f"{name} = {_toml(value)}" for name, value in set_fields)]
    write_atomic(path, ("\n".join(lines) + "\n").encode())


def _toml(value: Any) -> str:
    """Strings, numbers and lists of them are written alike in TOML and JSON."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


@dataclass(frozen=True)
class LockedCheckpoint:
    """A checkpoint as it was found: the commit, and every file with size and digests."""

    reference: str
    revision: str | None
    files: tuple[StoredFile, ...]


@dataclass(frozen=True)
class LockedMachine:
    """What of the machine the verdict stands on."""

    name: str
    gpus: tuple[str, ...]
    memory: tuple[int | None, ...]
    driver: str | None
    disk_free: dict[str, int]


@dataclass(frozen=True)
class Lock:
    """`surefoot.lock.json`: what was found and resolved, without secrets."""

    surefoot: str
    target: LockedCheckpoint
    drafter: LockedCheckpoint | None
    machine: LockedMachine
    engine: str
    engine_packages: dict[str, str]
    commands: dict[str, tuple[str, ...]]
    verdict: Verdict
    schema: int = 1


def make_lock(answer: Answer, host: Host, target: Snapshot, drafter: Snapshot | None, packages: dict[str, str]) -> Lock:
    """Pin what a check found."""
    accelerators = host.machine.accelerators
    gpus = accelerators.gpus if accelerators else ()
    return Lock(
        surefoot=__version__,
        target=_locked(target),
        drafter=_locked(drafter) if drafter else None,
        machine=LockedMachine(
            name=host.machine.name,
            gpus=tuple(gpu.name for gpu in gpus),
            memory=tuple(gpu.memory_total for gpu in gpus),
            driver=accelerators.driver if accelerators else None,
            disk_free={disk.role: disk.free for disk in host.machine.disks or ()},
        ),
        engine=answer.engine,
        engine_packages=packages,
        commands={
            entry.strategy: (*entry.launch.program, *entry.launch.arguments)
            for entry in answer.strategies
            if entry.launch is not None
        },
        verdict=answer.verdict,
    )


def write_lock(path: Path, lock: Lock) -> None:
    """Write the lock file, whole or not at all."""
    write_record(path, lock)


def _locked(snapshot: Snapshot) -> LockedCheckpoint:
    return LockedCheckpoint(snapshot.reference, snapshot.revision, snapshot.files)
