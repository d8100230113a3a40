"""The exact command of a plan: every flag that the plan depends on, each with its reason."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from surefoot.engines.attention import abilities
from surefoot.preflight.case import Case
from surefoot.preflight.compatibility.attention import AttentionChoice
from surefoot.preflight.compatibility.model import needs_remote_code
from surefoot.preflight.compatibility.speculation import algorithm
from surefoot.preflight.memory.budget import MemoryBudget
from surefoot.preflight.memory.pool import STATE_SLOTS
from surefoot.preflight.memory.sglang_defaults import rules_for

PORT = {"sglang": 30000, "vllm": 8000}


@dataclass(frozen=True)
class Flag:
    """One flag; `value` None for a switch."""

    name: str
    value: str | None
    reason: str


@dataclass(frozen=True)
class Launch:
    """A command. `environment` are variables by name with what they are for; values of secrets are never here."""

    program: tuple[str, ...]
    flags: tuple[Flag, ...]
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """The flags as the engine's argument list."""
        return tuple(word for flag in self.flags for word in (flag.name, flag.value) if word is not None)

    @property
    def command(self) -> str:
        """The command as it can be pasted into a shell, a flag a line."""
        lines = [shlex.join(self.program)]
        lines += [shlex.join([flag.name] if flag.value is None else [flag.name, flag.value]) for flag in self.flags]
        return " \\\n  ".join(lines)


def launch(case: Case, choice: AttentionChoice, budget: MemoryBudget) -> Launch | None:
    """The command of a planned case; None where there is none: no such strategy, or the embedded engine."""
    if case.engine.kind not in _FLAGS or (case.speculation.drafts and algorithm(case) is None):
        return None
    program, flags = _FLAGS[case.engine.kind]
    return Launch(program, tuple(flags(case, choice, budget)), tuple(_environment(case)))


def _environment(case: Case) -> Iterator[tuple[str, str]]:
    gated = [c.reference for c in (case.target, case.drafter) if c is not None and "gated" in c.access.gate]
    if gated:
        yield "HF_TOKEN", f"a token that may read {' and '.join(gated)}"


def _sglang(case: Case, choice: AttentionChoice, budget: MemoryBudget) -> Iterator[Flag]:
    options, rules = case.options, rules_for(case.engine.version)
    yield Flag("--model-path", case.target.reference, "the target")
    if case.target.revision:
        yield Flag("--revision", case.target.revision, "the commit that was checked")
    if any(s is not None and needs_remote_code(s) for s in (case.target_snapshot, case.drafter_snapshot)):
        yield Flag("--trust-remote-code", None, "the repository brings its own code (auto_map)")
    yield Flag("--tp-size", str(options.tensor_parallel), "weights split over these GPUs")
    if options.pipeline_parallel > 1:
        yield Flag("--pp-size", str(options.pipeline_parallel), "layers split into stages")
    if options.expert_parallel > 1:
        yield Flag("--ep-size", str(options.expert_parallel), "whole experts on each rank")
    if options.data_parallel > 1:
        yield Flag("--dp-size", str(options.data_parallel), "attention groups")
        yield Flag("--enable-dp-attention", None, "each group keeps its own cache")
        if case.speculation.drafts and rules.version != "0.5.11":
            yield Flag("--enable-dp-lm-head", None, "DFLASH asks for it with DP attention")
    if choice.backend:
        why = f"works on SM{case.sm} for this model" + ("" if choice.default == choice.backend else "; not the default")
        yield Flag("--attention-backend", choice.backend, why)
    yield Flag("--kv-cache-dtype", options.kv_cache_dtype, f"{budget.token_bytes} bytes a token on each GPU")
    yield Flag("--context-length", str(case.context), "the longest request; also sizes mask and graph buffers")
    window = (
        f"works from {budget.lowest:.3f} to {budget.highest:.3f}; the default would be {budget.default_fraction:.3f}"
    )
    yield Flag("--mem-fraction-static", f"{budget.fraction:.3f}", window)
    if options.chunked_prefill:
        yield Flag("--chunked-prefill-size", str(options.chunked_prefill), "bounds the activations of prefill")
    if options.graph_batch:
        yield Flag(rules.graph_flag, str(options.graph_batch), "graphs for as many requests as run at once")
    if options.max_running:
        yield Flag("--max-running-requests", str(options.max_running), "the workload's concurrency")
    if budget.pool.state:
        slots = (options.max_running or 1) * STATE_SLOTS
        yield Flag("--max-mamba-cache-size", str(slots), f"{STATE_SLOTS} recurrent states a running request")
    if case.speculation.drafts:
        yield from _speculation(case, choice)
    yield from _address(case)


def _speculation(case: Case, choice: AttentionChoice) -> Iterator[Flag]:
    drafter = case.drafter
    name = algorithm(case)
    if drafter is None or name is None:
        return
    yield Flag("--speculative-algorithm", name, str(case.speculation))
    yield Flag("--speculative-draft-model-path", drafter.reference, "the drafter")
    if drafter.revision and rules_for(case.engine.version).version != "0.5.11":
        yield Flag("--speculative-draft-model-revision", drafter.revision, "the commit that was checked")
    yield Flag("--speculative-num-draft-tokens", str(case.speculation.width), "positions of one verification")
    backend = draft_backend(case, choice)
    if backend:
        yield Flag(
            "--speculative-draft-attention-backend", backend, "the drafter is GQA; it would inherit the target's"
        )


def draft_backend(case: Case, choice: AttentionChoice) -> str | None:
    """The drafter's backend: the target's where it can run GQA here, else flashinfer, else triton."""
    allowed = case.engine.dflash_draft_backends or ()
    sm = case.sm or 0
    able = {row.name for row in abilities().backend if "mha" in row.attention and any(a <= sm <= b for a, b in row.sm)}
    wanted = (choice.backend, "flashinfer", "triton")
    return next((name for name in wanted if name and name in allowed and name in able), None)


def _vllm(case: Case, choice: AttentionChoice, budget: MemoryBudget) -> Iterator[Flag]:
    options = case.options
    yield Flag("--model", case.target.reference, "the target")
    if case.target.revision:
        yield Flag("--revision", case.target.revision, "the commit that was checked")
    if needs_remote_code(case.target_snapshot):
        yield Flag("--trust-remote-code", None, "the repository brings its own code (auto_map)")
    yield Flag("--tensor-parallel-size", str(options.tensor_parallel), "weights split over these GPUs")
    if options.pipeline_parallel > 1:
        yield Flag("--pipeline-parallel-size", str(options.pipeline_parallel), "layers split into stages")
    yield Flag("--kv-cache-dtype", options.kv_cache_dtype, f"{budget.token_bytes} bytes a token on each GPU")
    yield Flag("--max-model-len", str(case.context), "the longest request")
    window = f"works from {budget.lowest:.3f} to {budget.highest:.3f}"
    yield Flag("--gpu-memory-utilization", f"{budget.fraction:.3f}", window)
    if options.chunked_prefill:
        yield Flag("--max-num-batched-tokens", str(options.chunked_prefill), "bounds the activations of prefill")
    yield Flag("--max-num-seqs", str(options.max_running or 1), "the workload's concurrency")
    name = algorithm(case)
    if case.speculation.drafts and case.drafter is not None and name is not None:
        settings: dict[str, str | int] = {"method": name, "model": case.drafter.reference}
        settings["num_speculative_tokens"] = case.speculation.width - 1
        yield Flag("--speculative-config", json.dumps(settings), f"{case.speculation}; the first of a block is known")
    yield from _address(case)


def _address(case: Case) -> Iterator[Flag]:
    yield Flag("--host", "127.0.0.1", "nobody else can reach it until told so")
    yield Flag("--port", str(PORT[case.engine.kind]), "")


_Flags = Callable[[Case, AttentionChoice, MemoryBudget], Iterator[Flag]]
_FLAGS: dict[str, tuple[tuple[str, ...], _Flags]] = {
    "sglang": (("python", "-m", "sglang.launch_server"), _sglang),
    "vllm": (("python", "-m", "vllm.entrypoints.openai.api_server"), _vllm),
}
