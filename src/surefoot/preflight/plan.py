"""Find launch options that work: backend, chunk, graphs and fraction; say what would help when none do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefoot.errors import UnknownError
from surefoot.evidence import Fact, Finding, Level, Method
from surefoot.preflight.case import Case
from surefoot.preflight.compatibility.attention import AttentionChoice, choose_attention
from surefoot.preflight.compatibility.parallel import tensor_parallel
from surefoot.preflight.memory.budget import MemoryBudget
from surefoot.preflight.memory.engines import memory_budget
from surefoot.preflight.memory.parts import MIB, total
from surefoot.units import binary

CHUNKS = (4096, 2048)
"""Smaller prefill chunks that are tried when the default one leaves no room."""


@dataclass(frozen=True)
class Planned:
    """A case with its options decided; `budget` None when a size is unknown."""

    case: Case
    choice: AttentionChoice
    budget: MemoryBudget | None
    findings: tuple[Finding, ...]


def plan(case: Case) -> Planned:
    """Decide every option that the user left open."""
    wanted = case.options
    decided = replace(
        wanted,
        tensor_parallel=wanted.tensor_parallel or tensor_parallel(case),
        context=wanted.context or case.workload.context,
        max_running=wanted.max_running or case.workload.concurrency,
        graph_batch=wanted.graph_batch or case.workload.concurrency,
    )
    case = case.with_options(decided)
    choice = choose_attention(case)
    case = case.with_options(replace(decided, attention_backend=choice.backend))
    try:
        case, budget = _with_chunk(case)
    except UnknownError as error:
        if case.host.machine.accelerators and not case.gpus:
            return Planned(case, choice, None, ())
        finding = Finding(Level.UNKNOWN, "memory-unknown", error.message, remedy=error.remedy)
        return Planned(case, choice, None, (finding,))
    return Planned(case, choice, budget, tuple(_judge(case, budget)))


def _with_chunk(case: Case) -> tuple[Case, MemoryBudget]:
    """The largest prefill chunk that leaves a window; the first budget when none does."""
    first = memory_budget(case)
    if first.fits or case.options.chunked_prefill or case.engine.kind == "surefoot":
        return case, first
    for chunk in CHUNKS:
        smaller = case.with_options(replace(case.options, chunked_prefill=chunk))
        budget = memory_budget(smaller)
        if budget.fits:
            return smaller, budget
    return case, first


def _judge(case: Case, budget: MemoryBudget) -> Iterator[Finding]:
    source = f"{case.engine.kind} {case.engine.version}'s own formula"
    facts = (
        Fact("before loading", budget.before, "free memory less the CUDA context", Method.COMPUTED),
        Fact("weights", budget.weights, "tensors on the fullest rank", Method.COMPUTED),
        Fact(
            "cache for the workload",
            budget.pool.needed(case.workload.tokens),
            "bytes a token x tokens",
            Method.COMPUTED,
        ),
        Fact("outside", total(budget.outside), "activations, graphs, buffers, reserve", Method.COMPUTED),
    )
    if case.target.model.context and case.workload.context > case.target.model.context:
        message = (
            f"the workload asks for {case.workload.context} tokens, the model's context is {case.target.model.context}"
        )
        yield Finding(Level.BLOCKER, "context-too-long", message, remedy=f"--context {case.target.model.context}")
    if any(part.method is Method.ASSUMED for part in budget.static if part.name in ("weights", "drafter")):
        message = "sizes of weights come from the config or the file size alone: no header was read"
        yield Finding(
            Level.WARNING, "weights-estimated", message, remedy="surefoot inspect MODEL --save, then check that"
        )
    named = case.options.memory_fraction
    if not budget.fits:
        message = (
            f"no memory fraction works: weights and cache need {budget.lowest:.3f}, only {budget.highest:.3f} can be "
            f"given; each GPU lacks {binary(budget.missing)}"
        )
        yield Finding(Level.BLOCKER, "memory-window-empty", message, facts, _way_out(case))
        return
    if named is not None and not budget.lowest <= named <= budget.highest:
        message = f"{budget.fraction_name} {named} is outside the window {budget.lowest:.3f} to {budget.highest:.3f}"
        yield Finding(
            Level.BLOCKER, "fraction-outside-window", message, facts, f"{budget.fraction_name} {budget.highest:.3f}"
        )
        return
    if budget.fraction_name:
        message = f"{budget.fraction_name} works from {budget.lowest:.3f} to {budget.highest:.3f}"
        yield Finding(Level.OK, "memory-window", message, facts)
        yield from _default(case, budget, source)
    else:
        yield Finding(Level.OK, "memory-fits", f"{binary(-budget.missing)} to spare", facts)


def _default(case: Case, budget: MemoryBudget, source: str) -> Iterator[Finding]:
    """What would happen without the flag."""
    fact = Fact("default fraction", budget.default_fraction, source, Method.COMPUTED)
    static = int(budget.before * budget.default_fraction)
    remedy = f"{budget.fraction_name} {budget.fraction:.3f}"
    opening = f"with {case.speculation} the default fraction {budget.default_fraction:.3f}"
    if static < budget.weights:
        message = (
            f"{opening} gives {static // MIB} MiB, the weights alone take "
            f"{budget.weights // MIB} MiB: the server would not start"
        )
        yield Finding(Level.WARNING, "default-fraction-fails", message, (fact,), remedy)
    elif budget.default_tokens < case.workload.tokens:
        message = f"{opening} leaves {budget.default_tokens} tokens of cache, the workload needs {case.workload.tokens}"
        yield Finding(Level.WARNING, "default-fraction-small", message, (fact,), remedy)
    elif budget.default_fraction > budget.highest:
        message = f"{opening} leaves too little beside the cache"
        yield Finding(Level.WARNING, "default-fraction-large", message, (fact,), remedy)


def _way_out(case: Case) -> str:
    """The cheapest change that opens the window, tried one by one."""
    options, workload = case.options, case.workload
    eight_bit = replace(case, options=replace(options, kv_cache_dtype="fp8_e4m3"))
    attempts = [("--kv-cache-dtype fp8_e4m3 (changes outputs slightly)", eight_bit)]
    halves = [workload.context // 2**n for n in (1, 2, 3) if workload.context // 2**n >= 1024]
    for context in halves:
        smaller = replace(workload, context=context)
        attempts.append(
            (f"--context {context}", replace(case, workload=smaller, options=replace(options, context=context)))
        )
    if workload.concurrency > 1:
        one = replace(workload, concurrency=1)
        small = replace(options, max_running=1, graph_batch=1)
        attempts.append(("--concurrency 1", replace(case, workload=one, options=small)))
    for text, variant in attempts:
        try:
            if _with_chunk(variant)[1].fits:
                return text
        except UnknownError:
            continue
    return "more or larger GPUs, or a checkpoint with smaller weights"
