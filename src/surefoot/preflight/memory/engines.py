"""The budget of a case under each engine's accounting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from surefoot.errors import UnknownError
from surefoot.evidence import Method
from surefoot.preflight.case import Case, taps
from surefoot.preflight.memory.budget import MemoryBudget
from surefoot.preflight.memory.cache import CacheCost, cache_cost
from surefoot.preflight.memory.overhead import activation_part, context_part, slack_part, verification_parts
from surefoot.preflight.memory.parts import MIB, Part, total
from surefoot.preflight.memory.pool import (
    Pool,
    default_tokens,
    draft_token_bytes,
    planned_pool,
    token_bytes,
)
from surefoot.preflight.memory.sglang_defaults import (
    GRAPH_PREFILL_MLA,
    Rules,
    default_fraction,
    rules_for,
    with_defaults,
)
from surefoot.preflight.memory.weights import absorbed_copies, drafter_parts, target_parts

VLLM_FRACTION = 0.92
"""`--gpu-memory-utilization` when none is given (vLLM 0.34, `config/cache.py`)."""
VLLM_CHUNK = 8192
"""`--max-num-batched-tokens` for a server on a large GPU."""


def memory_budget(case: Case) -> MemoryBudget:
    """The budget of a case on its fullest GPU. Raises `UnknownError` when a size it stands on is not known."""
    return _BUDGETS[case.engine.kind](case)


def _sglang(case: Case) -> MemoryBudget:
    rules = rules_for(case.engine.version)
    gpu, free = _gpu(case)
    options, speculation, model = case.options, case.speculation, case.target.model
    chunk, batch, running = with_defaults(rules, options, gpu / MIB, speculation)
    cost = _known(cache_cost(model, options))
    layers = sum(1 for layer in model.layers if not _stateful(layer.mixer))
    token = token_bytes(cost, model.classes)
    draft, draft_cost = _drafter(case), _drafter_cost(case)
    counted = 0
    if case.drafter is not None and draft_cost is not None:
        counted = draft_token_bytes(rules, token, layers, draft_cost, len(case.drafter.model.layers))
    extra = max(0, draft_cost.token - counted) if draft_cost else 0
    context = context_part(options)
    before = free - context.bytes
    static = [*_weights(case), *(draft if rules.draft_counted else ())]
    if rules.multimodal_reserve and model.towers:
        static.append(Part("image cache", rules.multimodal_reserve * MIB, "SGLANG_VLM_CACHE_SIZE_MB", Method.READ))
    outside = [activation_part(model, options, chunk, taps(case)), _graphs(rules, case, batch)]
    tree = speculation.budget is not None
    masked = options.attention_backend in (None, "triton") and (tree or (speculation.drafts and rules.mask_for_chain))
    outside += verification_parts(model, speculation, batch, case.context, masked)
    outside += [] if rules.draft_counted else draft
    outside.append(slack_part(gpu))
    running = running or max(case.workload.concurrency, 1)
    pool = planned_pool(rules, token + counted, cost, running, speculation.width)
    if extra:
        size = extra * case.workload.tokens
        outside.append(Part("drafter's cache beyond its count", size, "its own layout, not the target's share"))
    bare = replace(options, graph_batch=None, chunked_prefill=None, max_running=None)
    fraction = default_fraction(rules, model, bare, gpu / MIB, speculation)
    rest = int(before * fraction) - total(tuple(static))
    usual = with_defaults(rules, bare, gpu / MIB, speculation)[2] or 1
    return MemoryBudget(
        gpu_bytes=gpu, free_bytes=free, before=before, static=tuple(static), outside=tuple(outside), cache=cost,
        pool=pool, workload=case.workload, options=options, default_fraction=round(fraction, 4),
        default_tokens=default_tokens(rules, token + counted, cost, usual, speculation.width, rest),
        fraction_name="--mem-fraction-static",
    )  # fmt: skip


def _vllm(case: Case) -> MemoryBudget:
    """vLLM measures activations itself: its fraction is of the whole GPU and covers all but its graphs."""
    gpu, free = _gpu(case)
    options, speculation, model = case.options, case.speculation, case.target.model
    cost = _known(cache_cost(model, options))
    chunk = options.chunked_prefill or VLLM_CHUNK
    draft_cost = _drafter_cost(case)
    token = cost.token + (draft_cost.token if draft_cost else 0)
    batch = options.max_running or case.workload.concurrency
    context = context_part(options)
    static = (
        context, *_weights(case), *_drafter(case), activation_part(model, options, chunk, taps(case)),
        *verification_parts(model, speculation, batch, case.context, False),
    )  # fmt: skip
    graphs = Part("CUDA graphs", 2 * MIB * batch * speculation.width + 512 * MIB, "a usual size", Method.ASSUMED)
    outside = (graphs, slack_part(gpu))
    nodes = speculation.width if speculation.width > 1 else 0
    slots = batch * (1 + nodes) if cost.state else 0
    pool = Pool(token, cost.state, slots)
    rest = int(gpu * VLLM_FRACTION) - total(static)
    return MemoryBudget(
        gpu_bytes=gpu, free_bytes=free, before=min(free, gpu), static=static, outside=outside, cache=cost, pool=pool,
        workload=case.workload, options=options, default_fraction=VLLM_FRACTION, default_tokens=pool.tokens(rest),
        fraction_name="--gpu-memory-utilization",
    )  # fmt: skip


def _embedded(case: Case) -> MemoryBudget:
    """The embedded engine: one device, everything allocated up front, no fraction."""
    memory = case.host.machine.memory
    gpu, free = _gpu(case) if case.gpus else (0, 0)
    if not case.gpus:
        if memory is None:
            raise UnknownError("neither a GPU nor the host's memory is known")
        gpu, free = memory.total, memory.available or memory.total
    options, model = case.options, case.target.model
    cost = _known(cache_cost(model, options))
    draft_cost = _drafter_cost(case)
    token = cost.token + (draft_cost.token if draft_cost else 0)
    static = (*_weights(case), *_drafter(case))
    outside = (
        activation_part(model, options, case.workload.context, taps(case)),
        *verification_parts(model, case.speculation, case.workload.concurrency, case.context, False),
        slack_part(gpu),
    )
    pool = Pool(token, cost.state, case.workload.concurrency * (1 + case.speculation.width) if cost.state else 0)
    return MemoryBudget(
        gpu_bytes=gpu, free_bytes=free, before=free, static=static, outside=outside, cache=cost, pool=pool,
        workload=case.workload, options=options, default_fraction=1.0,
        default_tokens=pool.tokens(free - total(static) - total(outside)), fraction_name="",
    )  # fmt: skip


_BUDGETS: dict[str, Callable[[Case], MemoryBudget]] = {"sglang": _sglang, "vllm": _vllm, "surefoot": _embedded}


def _gpu(case: Case) -> tuple[int, int]:
    """Total and free bytes of the fullest GPU that the plan uses."""
    gpus = case.host.machine.gpus[: case.options.gpus]
    if not gpus:
        raise UnknownError(f"{case.host.machine.name} has no GPU", remedy="plan for another machine with --on")
    sizes = [gpu.memory_total for gpu in gpus]
    if any(size is None for size in sizes):
        memory = case.host.machine.memory
        if memory is None or not all(gpu.unified_memory for gpu in gpus):
            raise UnknownError(f"the memory of {gpus[0].name} is unknown", remedy="probe the machine again")
        return memory.total, memory.available or memory.total
    smallest = min(size for size in sizes if size is not None)
    free = min(gpu.memory_free if gpu.memory_free is not None else gpu.memory_total or 0 for gpu in gpus)
    return smallest, min(free, smallest)


def _weights(case: Case) -> tuple[Part, ...]:
    parts = target_parts(case.target, case.target_snapshot, case.options)
    if not parts:
        raise UnknownError(
            f"the size of {case.target.reference} is unknown: no header was read and its config does not tell",
            remedy=f"surefoot inspect {case.target.reference}",
        )
    copies = absorbed_copies(case.target, case.options)
    return (*parts, copies) if copies else parts


def _drafter(case: Case) -> tuple[Part, ...]:
    if case.drafter is None or case.drafter_snapshot is None or not case.speculation.drafts:
        return ()
    parts = drafter_parts(case.drafter, case.drafter_snapshot, case.options)
    if not parts:
        raise UnknownError(f"the size of the drafter {case.drafter.reference} is unknown")
    return parts


def _drafter_cost(case: Case) -> CacheCost | None:
    if case.drafter is None or not case.speculation.drafts:
        return None
    return _known(cache_cost(case.drafter.model, case.options))


def _known(cost: CacheCost) -> CacheCost:
    if cost.unknown is not None:
        raise UnknownError(cost.unknown)
    return cost


def _stateful(mixer: str) -> bool:
    from surefoot.checkpoints.architecture import RECURRENT

    return mixer in RECURRENT or mixer == "no mixer"


def _graphs(rules: Rules, case: Case, batch: int) -> Part:
    """SGLang's own allowance for its graphs."""
    size = 2 * batch + (GRAPH_PREFILL_MLA if case.target.model.latent is not None else 512)
    return Part(
        "CUDA graphs", size * MIB, f"2 MiB x batch {batch} + prefill graphs: SGLang's allowance", Method.ASSUMED
    )
