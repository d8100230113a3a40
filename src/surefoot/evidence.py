"""Facts, findings and verdicts: what was learned, what it means, and whether to go.

A fact is a value with its source and the way it was obtained. A finding is a judgement that stands on
facts. A verdict sums findings up. What could not be learned is `unknown`, never `ok`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

Scalar = str | int | float | bool | None


class Method(StrEnum):
    """How a fact was obtained."""

    READ = "read"
    MEASURED = "measured"
    COMPUTED = "computed"
    ASSUMED = "assumed"


class Level(StrEnum):
    """How a finding weighs, gravest first."""

    BLOCKER = "blocker"
    UNKNOWN = "unknown"
    WARNING = "warning"
    NOTE = "note"
    OK = "ok"


class Verdict(StrEnum):
    """The answer of a check."""

    GO = "go"
    GO_WITH_CHANGES = "go with changes"
    NO_GO = "no-go"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        """0 go, 1 no-go, 3 unknown."""
        return {Verdict.NO_GO: 1, Verdict.UNKNOWN: 3}.get(self, 0)


@dataclass(frozen=True)
class Fact:
    """One value, the place it came from (`source`: a file and path in it, a command, a formula) and how."""

    name: str
    value: Scalar
    source: str
    method: Method = Method.READ


@dataclass(frozen=True)
class Finding:
    """A judged statement. `code` is a stable kebab-case id; `remedy` can be pasted or followed as it is."""

    level: Level
    code: str
    message: str
    evidence: tuple[Fact, ...] = ()
    remedy: str | None = None


def judge(findings: Iterable[Finding]) -> Verdict:
    """Sum findings up: a blocker is a no-go, something unknown is unknown, a warning asks for changes."""
    levels = {finding.level for finding in findings}
    if Level.BLOCKER in levels:
        return Verdict.NO_GO
    if Level.UNKNOWN in levels:
        return Verdict.UNKNOWN
    return Verdict.GO_WITH_CHANGES if Level.WARNING in levels else Verdict.GO
