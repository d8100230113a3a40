"""The record of a host, and machine.json: what `surefoot probe` writes and `surefoot check` reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from surefoot.engines import Engines
from surefoot.errors import InputError
from surefoot.machines import Machine
from surefoot.records import from_json, write_record

SCHEMA = 1


@dataclass(frozen=True)
class Host:
    """A machine and its engines (None: unknown, `engines_unknown` says why); asking took `seconds`.

    `schema` is the number of the layout of machine.json.
    """

    machine: Machine
    engines: Engines | None = None
    engines_unknown: str | None = None
    seconds: float | None = None
    schema: int = SCHEMA


class _Layout(msgspec.Struct):
    schema: int


def write_host(path: Path, host: Host) -> None:
    """Write machine.json, whole or not at all. Raises `InputError` when the disk refuses."""
    write_record(path, host)


def read_host(path: Path) -> Host:
    """Read and validate machine.json.

    Raises:
        InputError: missing, torn, not a machine.json, or written by a newer Surefoot.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    try:
        layout = msgspec.json.decode(data, type=_Layout).schema
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a machine.json: {error}", remedy=f"surefoot probe HOST -o {path}") from error
    if layout > SCHEMA:
        raise InputError(
            f"{path} was written by a newer Surefoot (layout {layout}, this one reads up to {SCHEMA})",
            remedy="upgrade Surefoot or probe the host again",
        )
    return from_json(data, Host, source=str(path))
