"""Which attention backend to launch with: the one that serves and verifies here, and why not the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surefoot.checkpoints.architecture import RECURRENT
from surefoot.engines import Situation, judge_limits
from surefoot.engines.attention import Candidate, candidates, default_backend
from surefoot.evidence import Fact, Finding, Level, Method
from surefoot.preflight.case import Case
from surefoot.preflight.compatibility.model import is_mla, known_class

DEEPSEEK_FAMILY = frozenset(
    {"DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "KimiK25ForConditionalGeneration", "MistralLarge3ForCausalLM",
     "GlmMoeDsaForCausalLM"}
)  # fmt: skip
"""Classes for which SGLang prefers trtllm_mla on SM100."""
PREFERRED = ("fa3", "trtllm_mla", "trtllm_mha", "flashinfer", "triton")
HYBRID = {"sm120": ("triton", "trtllm_mha", "flashinfer"), "sm100": ("triton", "trtllm_mha", "fa4", "flashinfer")}
"""Backends that SGLang lets Gated DeltaNet models use on Blackwell."""


@dataclass(frozen=True)
class AttentionChoice:
    """`backend` None: the engine has no such flag, or none works. `default` is what it would take itself."""

    backend: str | None = None
    default: str | None = None
    candidates: tuple[Candidate, ...] = ()
    findings: tuple[Finding, ...] = ()


def choose_attention(case: Case) -> AttentionChoice:
    """Choose for SGLang; other engines choose by themselves."""
    if case.engine.kind != "sglang":
        return AttentionChoice()
    if case.host.machine.accelerators and not case.gpus:
        return AttentionChoice()
    if case.sm is None:
        message = "the GPU's compute capability is unknown, so no attention backend can be chosen"
        return AttentionChoice(findings=(Finding(Level.UNKNOWN, "attention-unknown", message),))
    mla = is_mla(case)
    found = _candidates(case, mla, case.sm)
    default = default_backend(
        mla=mla, sm=case.sm, deepseek_family=bool(DEEPSEEK_FAMILY & set(case.target.model.classes))
    )
    wanted = case.options.attention_backend
    chosen = wanted or _first(found, default)
    return AttentionChoice(chosen, default, found, tuple(_findings(case, mla, found, chosen, default)))


def situation(case: Case, backend: str | None) -> Situation:
    """What the known limits are judged for."""
    known = known_class(case)
    model = case.target.model
    environment = case.host.machine.environment
    return Situation(
        strategy="ddtree" if case.speculation.budget is not None else case.speculation.kind,
        attention_backend=backend,
        split_attention=False,
        sm=case.sm,
        mla=is_mla(case),
        recurrent=any(layer.mixer in RECURRENT for layer in model.layers),
        captures_hidden_states=known.captures_hidden_states if known else None,
        kv_cache_dtype=case.options.kv_cache_dtype,
        pipeline_parallel=case.options.pipeline_parallel,
        dp_attention=case.options.data_parallel > 1,
        simulated_acceptance="SGLANG_SIMULATE_ACC_LEN" in (environment or {}),
    )


def _candidates(case: Case, mla: bool, sm: int) -> tuple[Candidate, ...]:
    kind = "ddtree" if case.speculation.budget is not None else case.speculation.kind
    found = candidates(case.engine, mla=mla, sm=sm, strategy=kind)
    hybrid = any(layer.mixer in RECURRENT for layer in case.target.model.layers)
    family = "sm120" if sm >= 120 else "sm100" if 100 <= sm < 110 else None
    if not hybrid or family is None:
        return found
    allowed = HYBRID[family]
    return tuple(
        entry if entry.name in allowed else Candidate(
            entry.name, entry.registered, entry.choosable, False, "is refused for recurrent models on Blackwell"
        )
        for entry in found
    )  # fmt: skip


def _first(found: tuple[Candidate, ...], default: str) -> str | None:
    working = [entry.name for entry in found if entry.works and entry.registered and entry.choosable]
    ordered = [name for name in (default, *PREFERRED, *working) if name in working]
    return ordered[0] if ordered else None


def _findings(
    case: Case, mla: bool, found: tuple[Candidate, ...], chosen: str | None, default: str
) -> Iterator[Finding]:
    source = f"{case.engine_seen}; attention.toml of Surefoot"
    working = [entry.name for entry in found if entry.works and entry.choosable]
    kind = "MLA" if mla else "GQA"
    fact = Fact("backends that work", ", ".join(working) or "none", source, Method.COMPUTED)
    entry = next((candidate for candidate in found if candidate.name == chosen), None)
    if chosen is None:
        message = f"no attention backend of {case.engine.package} serves {kind} on SM{case.sm} with {case.speculation}"
        yield Finding(Level.BLOCKER, "no-attention-backend", message, (fact,), "another strategy or engine version")
        return
    if entry is None or not entry.choosable:
        message = f"{case.engine.package} has no attention backend {chosen!r} to choose"
        yield Finding(Level.BLOCKER, "attention-not-choosable", message, (fact,), f"one of {', '.join(working)}")
        return
    if entry.works is False:
        where = f"for {kind} on SM{case.sm} with {case.speculation}"
        message = f"{chosen} can be chosen but does not work {where}: {entry.reason}"
        remedy = f"--attention-backend {_first(found, default)}"
        yield Finding(Level.BLOCKER, "attention-cannot-serve", message, (fact,), remedy)
    elif entry.works is None:
        message = f"whether {chosen} works for {kind} on SM{case.sm} is unknown: {entry.reason}"
        yield Finding(
            Level.UNKNOWN, "attention-unproven", message, (fact,), f"--attention-backend {_first(found, default)}"
        )
    else:
        message = f"{chosen} serves {kind} on SM{case.sm} and verifies {case.speculation}"
        yield Finding(Level.OK, "attention-backend", message, (fact,))
    if case.speculation.budget is not None and working == [chosen]:
        message = f"{chosen} is the only backend here that reads a tree mask for {kind}"
        yield Finding(Level.NOTE, "only-tree-backend", message, (fact,))
    if default != chosen and case.options.attention_backend is None:
        reason = next((candidate.reason for candidate in found if candidate.name == default), "")
        message = (
            f"without --attention-backend {case.engine.package} would take {default}, which does not work: {reason}"
        )
        yield Finding(Level.WARNING, "attention-default-fails", message, (fact,), f"--attention-backend {chosen}")
    yield from _traps(case, found, chosen)


def _traps(case: Case, found: tuple[Candidate, ...], chosen: str | None) -> Iterator[Finding]:
    """Backends that the command line takes and that known limits rule out: worth a word each."""
    version = case.engine.version
    own = {finding.code for finding in judge_limits("sglang", version, situation(case, chosen))}
    for entry in found:
        if entry.name == chosen or not entry.choosable:
            continue
        for finding in judge_limits("sglang", version, situation(case, entry.name)):
            if finding.level is Level.BLOCKER and finding.code not in own:
                message = f"do not choose {entry.name}: {finding.message}"
                yield Finding(Level.NOTE, finding.code, message, finding.evidence)
