"""Which engine to judge: the one the host has, or a published release, or the embedded one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from surefoot import __version__
from surefoot.engines import Engine
from surefoot.engines.releases import known_release, known_releases, newest_release, order
from surefoot.errors import UsageError
from surefoot.hosts import Host

KINDS = ("sglang", "vllm", "surefoot")
_PUBLISHED = "its published wheel, not seen on the machine"


@dataclass(frozen=True)
class ChosenEngine:
    """An engine, how its facts were had, and whether they are those of this very version."""

    engine: Engine
    seen: str
    read: bool = True


def choose_engine(host: Host, wanted: str | None) -> ChosenEngine:
    """The engine named `sglang==0.5.23`, `vllm`, `surefoot`.

    An installed engine of that version comes first, then the record of the published release. A version that
    was never read keeps its number, with the facts of the nearest older release.

    Raises `UsageError` for another name or a malformed version.
    """
    kind, _, version = (wanted or "").partition("==")
    if wanted and (kind not in KINDS or ("==" in wanted and not version)):
        raise UsageError(f"no engine {wanted!r}", remedy=f"one of {', '.join(KINDS)}, with a version: sglang==0.5.23")
    if kind == "surefoot":
        return ChosenEngine(Engine(kind="surefoot", package="surefoot", version=__version__), "this Surefoot")
    installed = [engine for engine in (host.engines.installed if host.engines else ()) if kind in ("", engine.kind)]
    if version:
        installed = [engine for engine in installed if engine.version == version]
    if installed:
        return ChosenEngine(installed[0], f"installed on {host.machine.name}")
    kind = kind or "sglang"
    if not version:
        newest = newest_release(kind)
        assert newest is not None
        return ChosenEngine(newest, _PUBLISHED)
    known = known_release(kind, version)
    if known is not None:
        return ChosenEngine(known, _PUBLISHED)
    return _unseen(kind, version)


def _unseen(kind: str, version: str) -> ChosenEngine:
    """A version that nobody read, with what the nearest older release (or the oldest) has."""
    versions = [name.partition("==")[2] for name in known_releases() if name.startswith(f"{kind}==")]
    older = [known for known in versions if order((kind, known)) <= order((kind, version))]
    near = older[-1] if older else versions[0]
    record = known_release(kind, near)
    assert record is not None
    unseen = replace(record, version=version, package=f"{kind}=={version}")
    return ChosenEngine(unseen, f"the wheel of {kind} {near}", read=False)
