"""Published releases of engines, read from their wheels: one can plan for an engine one has not installed.

`python -m surefoot.engines.releases sglang-0.5.23-….whl` adds a release: the same reader that probes an
installed engine reads the unpacked wheel, and the versions its metadata pins stand for the installed ones.
"""

from __future__ import annotations

import re
import sys
import tempfile
import zipfile
from email.parser import HeaderParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from surefoot.engines.engine import Engine
from surefoot.errors import InputError, UsageError
from surefoot.records import from_json, to_json, write_atomic

_KNOWN = files("surefoot.engines") / "known"
_REQUIRED = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?\s*==\s*([^;\s]+)")


def known_releases() -> tuple[str, ...]:
    """`sglang==0.5.11` and the like, oldest first."""
    names = [entry.name.removesuffix(".json") for entry in _KNOWN.iterdir() if entry.name.endswith(".json")]
    return tuple(f"{kind}=={version}" for kind, version in sorted((split(name) for name in names), key=order))


def known_release(kind: str, version: str) -> Engine | None:
    """The record of a published release, None when it was never read."""
    path = _KNOWN / f"{kind}-{version}.json"
    if not path.is_file():
        return None
    return from_json(path.read_bytes(), Engine, source=f"known/{kind}-{version}.json")


def newest_release(kind: str) -> Engine | None:
    """The newest release of `kind` that was read."""
    found = [name for name in known_releases() if name.startswith(f"{kind}==")]
    return known_release(kind, found[-1].partition("==")[2]) if found else None


def split(name: str) -> tuple[str, str]:
    """`sglang-0.5.11` as kind and version."""
    kind, _, version = name.partition("-")
    return kind, version


def order(release: tuple[str, str]) -> tuple[str, tuple[int, ...]]:
    """A key that sorts releases by kind, then by version number."""
    kind, version = release
    return kind, tuple(int(number) for number in re.findall(r"\d+", version))


def read_release(wheel: Path) -> Engine:
    """What the engine in a wheel can do. Raises `InputError` for a damaged wheel, `UsageError` for another one."""
    from surefoot.engines.probe.engine import READERS

    kind, version = wheel.name.split("-")[:2]
    if kind not in READERS:
        raise UsageError(f"{wheel.name} is no wheel of {' or '.join(READERS)}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(wheel) as archive:
                members = [name for name in archive.namelist() if name.endswith((".py", "METADATA"))]
                archive.extractall(folder, members)
                metadata = next(name for name in members if name.endswith(".dist-info/METADATA"))
                pins = _pins(archive.read(metadata).decode())
        except (OSError, zipfile.BadZipFile, StopIteration) as error:
            raise InputError(f"cannot read the wheel {wheel}: {error}") from error
        found: dict[str, Any] = READERS[kind](f"{folder}/{kind}")
    package = f"{kind}=={version}"
    return msgspec.convert({"kind": kind, "package": package, "version": version, "packages": pins, **found}, Engine)


def _pins(metadata: str) -> dict[str, str]:
    """Package -> exact version, of the requirements without an extra."""
    lines = HeaderParser().parsestr(metadata).get_all("Requires-Dist") or []
    found = [match for line in lines if "extra ==" not in line and (match := _REQUIRED.match(line))]
    return {match[1].lower().replace("_", "-"): match[2] for match in found}


def _main(wheels: list[str]) -> None:
    for name in wheels:
        engine = read_release(Path(name))
        write_atomic(Path(str(_KNOWN)) / f"{engine.kind}-{engine.version}.json", to_json(engine))
        print(f"{engine.package}: {len(engine.architectures or ())} model classes")


if __name__ == "__main__":
    _main(sys.argv[1:])
