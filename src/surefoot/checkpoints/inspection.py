"""Target and drafter looked at together, at the same time: what `surefoot inspect` shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from surefoot.checkpoints.checkpoint import Checkpoint, understand
from surefoot.checkpoints.pairing import Pair, pair
from surefoot.checkpoints.reference import read_local
from surefoot.checkpoints.snapshot import Snapshot
from surefoot.evidence import Verdict, judge

Log = Callable[[str], None]
"""Takes one line for each request to a hub."""


@dataclass(frozen=True)
class Inspection:
    """The result: a target, perhaps a drafter, and how they fit."""

    target: Checkpoint
    drafter: Checkpoint | None = None
    pair: Pair | None = None

    @property
    def verdict(self) -> Verdict:
        """Sum of all findings."""
        findings = list(self.target.findings)
        findings += self.drafter.findings if self.drafter else ()
        findings += self.pair.findings if self.pair else ()
        return judge(findings)


def take(reference: str, revision: str | None = None, log: Log | None = None) -> Snapshot:
    """The snapshot of whatever `reference` names. Raises `InputError` or `UsageError`."""
    local = read_local(reference)
    if local is not None:
        return local
    from surefoot.checkpoints.hub import read_hub

    return read_hub(reference, revision, log)


def take_all(references: tuple[str, ...], revision: str | None, log: Log | None = None) -> list[Snapshot]:
    """Snapshots of several references at once; `revision` is that of the first."""
    if len(references) == 1:
        return [take(references[0], revision, log)]
    from concurrent.futures import ThreadPoolExecutor

    revisions = (revision, *(None for _ in references[1:]))
    with ThreadPoolExecutor(len(references)) as pool:
        return list(pool.map(lambda entry: take(entry[0], entry[1], log), zip(references, revisions, strict=True)))


def inspect(target: Snapshot, drafter: Snapshot | None = None) -> Inspection:
    """Understand one snapshot, or two and how they fit."""
    understood = understand(target)
    if drafter is None:
        return Inspection(understood)
    other = understand(drafter)
    return Inspection(understood, other, pair(understood, other, drafter))
