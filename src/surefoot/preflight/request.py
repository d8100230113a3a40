"""From a deployment to an answer: read the checkpoints once, then judge them on any host with any engine."""

from __future__ import annotations

from dataclasses import dataclass, replace

from surefoot.asking import Asked
from surefoot.checkpoints.inspection import Log, take
from surefoot.checkpoints.snapshot import Snapshot
from surefoot.decoding.strategy import parse_strategy
from surefoot.engines import Resolution, resolve_arguments
from surefoot.errors import UnknownError
from surefoot.evidence import Fact, Finding, Level, judge
from surefoot.hosts import Host
from surefoot.preflight.answer import Answer, StrategyAnswer, gravest, worst
from surefoot.preflight.case import make_case
from surefoot.preflight.check import check
from surefoot.preflight.deployment import Deployment
from surefoot.preflight.disk import DiskPlan
from surefoot.preflight.engine_choice import ChosenEngine, choose_engine


@dataclass(frozen=True)
class Request:
    """Checkpoints as read, and what is asked about them."""

    deployment: Deployment
    target: Snapshot
    drafter: Snapshot | None
    disk: DiskPlan

    @classmethod
    def read(cls, deployment: Deployment, disk: DiskPlan, log: Log | None = None) -> Request:
        """Read the checkpoints that a deployment names. Raises `InputError` or `UsageError`."""
        target = take(deployment.target.model, deployment.target.revision, log)
        entry = deployment.drafter
        return cls(deployment, target, take(entry.model, entry.revision, log) if entry else None, disk)

    @property
    def strategies(self) -> list[tuple[str, int | None]]:
        """The strategies asked for; without any, plain, and dflash when there is a drafter."""
        named = self.deployment.strategies.run or (("plain", "dflash") if self.drafter else ("plain",))
        parsed = [parse_strategy(name.strip()) for name in named]
        return [(strategy.kind, strategy.budget) for strategy in dict.fromkeys(parsed)]

    def engine(self, host: Host, wanted: str | None) -> ChosenEngine:
        """The engine that is judged on a host."""
        return choose_engine(host, wanted)


def answer(request: Request, host: Host, engine: str | None, asked: Asked | None = None) -> Answer:
    """Judge a request on a host; with `asked`, let the engine there resolve each planned command."""
    chosen = request.engine(host, engine)
    case = make_case(
        request.target, request.drafter, host, chosen, request.deployment.workload, request.deployment.options
    )
    found = check(case, request.strategies, request.disk)
    if asked is None:
        return found
    entries = tuple(_with_resolution(entry, chosen, asked) for entry in found.strategies)
    return replace(found, strategies=entries, verdict=worst(entry.verdict for entry in entries))


def _with_resolution(entry: StrategyAnswer, chosen: ChosenEngine, asked: Asked) -> StrategyAnswer:
    if entry.launch is None:
        return entry
    try:
        resolution = resolve_arguments(
            chosen.engine, entry.launch.arguments, host=asked.host, ssh_config=asked.ssh_config
        )
        findings = judge_resolution(entry, resolution)
    except UnknownError as error:
        findings = (Finding(Level.UNKNOWN, "engine-not-asked", error.message, remedy=error.remedy),)
    together = gravest((*entry.findings, *findings))
    return replace(entry, findings=together, verdict=worst((entry.verdict, judge(findings))))


def judge_resolution(entry: StrategyAnswer, resolution: Resolution) -> tuple[Finding, ...]:
    """What the engine makes of the planned command: its error, its warnings, every flag it changed."""
    how = resolution.how or "its own argument resolution"
    if resolution.error is not None:
        fact = Fact("error", resolution.error, how)
        return (
            Finding(Level.BLOCKER, "engine-refuses", f"the engine refuses the command: {resolution.error}", (fact,)),
        )
    found = []
    resolved = resolution.arguments or {}
    for flag in entry.launch.flags if entry.launch else ():
        key = flag.name.removeprefix("--").replace("-", "_")
        if key not in resolved or flag.value is None:
            continue
        if not _same(flag.value, resolved[key]):
            fact = Fact(key, str(resolved[key]), how)
            message = f"the engine turns {flag.name} {flag.value} into {resolved[key]}"
            found.append(Finding(Level.WARNING, "engine-changes-flag", message, (fact,)))
    if not found:
        found.append(Finding(Level.OK, "engine-agrees", "the engine resolves the command as planned"))
    return tuple(found)


def _same(planned: str, resolved: object) -> bool:
    try:
        return abs(float(planned) - float(str(resolved))) < 1e-6
    except ValueError:
        return planned == str(resolved)
