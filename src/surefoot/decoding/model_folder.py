"""The `config.json` of a model folder, and numbers out of it, with clear errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from surefoot.errors import InputError


def read_config(folder: Path) -> dict[str, object]:
    """The `config.json` in `folder`. Raises `InputError` when it is missing, torn or no JSON object."""
    path = folder / "config.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, object])
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is torn or no JSON object: {error}") from error


def whole(config: Mapping[str, object], name: str, default: int | None = None) -> int:
    """A positive whole number. Raises `InputError` when it is absent without a default, or anything else."""
    value = config.get(name)
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise InputError(f"config.json: {name} must be a positive whole number, not {value!r}")
    return value


def number(config: Mapping[str, object], name: str, default: float) -> float:
    """A number. Raises `InputError` when it is present and none."""
    value = config.get(name)
    value = default if value is None else value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InputError(f"config.json: {name} must be a number, not {value!r}")
    return float(value)
