"""Frozen dataclasses to JSON and back, unchanged: what every room writes and reads.

Outside data is validated on the way in (types, enums, missing fields) with the path of what is wrong.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from surefoot.errors import InputError

T = TypeVar("T")


def to_json(record: Any) -> bytes:
    """`record` as indented JSON with a final newline."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def from_json(data: bytes, kind: type[T], *, source: str) -> T:
    """Read a `kind` out of JSON bytes; `source` names the data in the error.

    Raises:
        InputError: not JSON, or not a `kind`; the message holds the path of the first wrong value.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{source} is not a valid {kind.__name__}: {error}") from error


def read_record(path: Path, kind: type[T]) -> T:
    """Read a `kind` from a JSON file. Raises `InputError` when it is missing, unreadable or wrong."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    return from_json(data, kind, source=str(path))


def write_record(path: Path, record: Any) -> None:
    """Write `record` to `path` whole or not at all. Raises `InputError` when the disk refuses."""
    write_atomic(path, to_json(record))


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` beside `path` and rename it there, so that no reader ever sees half a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            os.chmod(name, 0o666 & ~_umask())
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}", remedy="free space or name another place") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def schema(kind: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a record type."""
    return msgspec.json.schema(kind)
