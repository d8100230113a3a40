"""Go or no-go: judge a case for each strategy and put the answer together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from surefoot.errors import UnknownError
from surefoot.evidence import Fact, Finding, Level, judge
from surefoot.preflight.answer import Answer, StrategyAnswer, Window, gravest, worst
from surefoot.preflight.case import Case
from surefoot.preflight.compatibility.machine import judge_machine
from surefoot.preflight.compatibility.model import judge_model
from surefoot.preflight.compatibility.parallel import judge_parallel
from surefoot.preflight.compatibility.quantization import judge_quantization
from surefoot.preflight.compatibility.speculation import judge_speculation
from surefoot.preflight.disk import DiskPlan, disk_needs, judge_disk
from surefoot.preflight.expectation import Expectation, expect
from surefoot.preflight.launch import launch
from surefoot.preflight.memory.budget import MemoryBudget
from surefoot.preflight.plan import Planned, plan

Strategies = Sequence[tuple[str, int | None]]
"""Kind and budget of each strategy to judge."""


def check(case: Case, strategies: Strategies, disk: DiskPlan | None = None) -> Answer:
    """Judge every strategy; findings about target, engine release and disk are shared."""
    disk = disk or DiskPlan()
    shared = [
        *(finding for finding in case.target.findings if finding.code != "tree-exactness"),
        *_engine(case), *judge_disk(case, disk),
    ]  # fmt: skip
    answers = tuple(_strategy(case.with_strategy(kind, budget)) for kind, budget in strategies)
    common = set.intersection(*(set(answer.findings) for answer in answers)) if len(answers) > 1 else set()
    shared += [finding for finding in answers[0].findings if finding in common]
    own = judge(shared)
    entries = tuple(
        replace(
            answer,
            findings=tuple(finding for finding in answer.findings if finding not in common),
            verdict=worst((own, answer.verdict)),
        )
        for answer in answers
    )
    return Answer(
        target=case.target.reference,
        drafter=case.drafter.reference if case.drafter else None,
        machine=case.host.machine.name,
        gpus=_gpus(case),
        engine=case.engine.package,
        engine_seen=case.engine_seen,
        workload=case.workload,
        findings=gravest(shared),
        strategies=entries,
        disk=disk_needs(case, disk),
        verdict=worst(entry.verdict for entry in entries),
    )


def _strategy(case: Case) -> StrategyAnswer:
    planned = plan(case)
    case = planned.case
    findings = [
        *judge_machine(case), *judge_parallel(case), *judge_model(case), *judge_quantization(case),
        *planned.choice.findings, *judge_speculation(case, planned.choice), *planned.findings,
    ]  # fmt: skip
    if case.speculation.drafts and case.inspection.drafter and case.inspection.pair:
        findings += [*case.inspection.drafter.findings, *case.inspection.pair.findings]
    expected, reason = _expectation(planned)
    findings += reason
    command = launch(case, planned.choice, planned.budget) if planned.budget else None
    return StrategyAnswer(
        strategy=str(case.speculation),
        verdict=judge(findings),
        findings=gravest(findings),
        backends=planned.choice.candidates,
        budget=planned.budget,
        window=_window(planned.budget) if planned.budget else None,
        launch=command,
        command=command.command if command else None,
        expectation=expected,
    )


def _window(budget: MemoryBudget) -> Window:
    return Window(
        lowest=budget.lowest,
        highest=budget.highest,
        planned=budget.fraction,
        default=budget.default_fraction,
        default_tokens=budget.default_tokens,
        max_tokens=budget.max_tokens,
        max_requests=budget.max_requests,
    )


def _expectation(planned: Planned) -> tuple[Expectation | None, list[Finding]]:
    if planned.budget is None:
        return None, []
    try:
        return expect(planned.case, planned.budget), []
    except UnknownError as error:
        return None, [Finding(Level.NOTE, "speed-not-estimated", error.message)]


def _engine(case: Case) -> list[Finding]:
    """How the engine's facts were had; a version that nobody read is said to be unseen."""
    fact = Fact("engine", case.engine.package, case.engine_seen)
    if case.engine.version is None and case.engine.kind != "surefoot":
        message = f"the version of {case.engine.package} is unknown"
        return [Finding(Level.UNKNOWN, "engine-version", message, (fact,), "surefoot probe HOST")]
    if not case.engine_read:
        message = f"{case.engine.package} was never read: its facts are those of {case.engine_seen}"
        return [Finding(Level.WARNING, "engine-never-read", message, (fact,), "surefoot probe a host that has it")]
    return [Finding(Level.OK, "engine-facts", f"facts about {case.engine.package}: {case.engine_seen}", (fact,))]


def _gpus(case: Case) -> str:
    names = Counter(gpu.name for gpu in case.gpus)
    return ", ".join(f"{count} x {name}" for name, count in names.items()) or "no GPU"
