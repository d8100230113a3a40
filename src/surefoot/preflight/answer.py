"""The answer of a check: a verdict for each strategy, what decides it, the budget, the command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from surefoot.engines.attention import Candidate
from surefoot.evidence import Finding, Level, Verdict
from surefoot.preflight.disk import DiskNeed
from surefoot.preflight.expectation import Expectation
from surefoot.preflight.launch import Launch
from surefoot.preflight.memory.budget import MemoryBudget
from surefoot.preflight.options import Workload

SCHEMA = 1
_ORDER = (Verdict.NO_GO, Verdict.UNKNOWN, Verdict.GO_WITH_CHANGES, Verdict.GO)


@dataclass(frozen=True)
class Window:
    """What a budget comes to: fractions that work, the planned one, and the cache it leaves."""

    lowest: float
    highest: float
    planned: float
    default: float
    default_tokens: int
    max_tokens: int
    max_requests: int


@dataclass(frozen=True)
class StrategyAnswer:
    """One strategy. Parts that could not be worked out are None; a finding says why."""

    strategy: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    backends: tuple[Candidate, ...] = ()
    budget: MemoryBudget | None = None
    window: Window | None = None
    launch: Launch | None = None
    command: str | None = None
    expectation: Expectation | None = None


@dataclass(frozen=True)
class Answer:
    """The whole answer. `findings` concern every strategy; `engine_seen` says how the engine's facts were had."""

    target: str
    drafter: str | None
    machine: str
    gpus: str
    engine: str
    engine_seen: str
    workload: Workload
    findings: tuple[Finding, ...]
    strategies: tuple[StrategyAnswer, ...]
    disk: tuple[DiskNeed, ...]
    verdict: Verdict
    schema: int = SCHEMA

    @property
    def deciding(self) -> tuple[Finding, ...]:
        """Findings that are not simply fine, gravest first, each once."""
        every = [*self.findings, *(finding for entry in self.strategies for finding in entry.findings)]
        return gravest(finding for finding in every if finding.level is not Level.OK)


def gravest(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by weight, repeats dropped."""
    levels = list(Level)
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: levels.index(finding.level)))


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The gravest verdict: what was asked for holds only when all of it does."""
    return min(verdicts, key=_ORDER.index)
