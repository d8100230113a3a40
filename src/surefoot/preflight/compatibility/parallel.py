"""How many GPUs, and whether heads, experts and groups divide by them."""

from __future__ import annotations

from collections.abc import Iterator

from surefoot.checkpoints.checkpoint import Checkpoint
from surefoot.evidence import Fact, Finding, Level, Method
from surefoot.preflight.case import Case


def tensor_parallel(case: Case) -> int:
    """The largest number of this machine's GPUs that divides target and drafter."""
    count = max(1, len(case.gpus))
    sizes = [size for size in (1, 2, 4, 8, 16) if size <= count and not _obstacles(case.target, size)]
    drafter = case.drafter
    if drafter is not None:
        sizes = [size for size in sizes if not _obstacles(drafter, size)] or sizes
    return max(sizes, default=1)


def judge_parallel(case: Case) -> Iterator[Finding]:
    """Divisibility, and whether the machine has as many GPUs as the plan takes."""
    options = case.options
    if case.engine.kind == "surefoot":
        return
    if not case.gpus:
        return
    if len(case.gpus) < options.gpus:
        message = f"the plan takes {options.gpus} GPUs, {case.host.machine.name} has {len(case.gpus)}"
        yield Finding(Level.BLOCKER, "too-few-gpus", message, remedy=f"--tp {max(1, len(case.gpus))}")
    found = False
    for checkpoint in filter(None, (case.target, case.drafter if case.speculation.drafts else None)):
        for what, size in _obstacles(checkpoint, options.tensor_parallel):
            found = True
            fact = Fact(what, size, f"{checkpoint.reference}: config.json")
            message = f"{what} of {checkpoint.reference} ({size}) do not divide over {options.tensor_parallel} GPUs"
            yield Finding(Level.BLOCKER, "not-divisible", message, (fact,), f"--tp {tensor_parallel(case)}")
    if not found:
        fact = Fact("tensor parallel", options.tensor_parallel, "heads, experts and groups", Method.COMPUTED)
        yield Finding(Level.OK, "divisible", f"everything divides over {options.tensor_parallel} GPUs", (fact,))
    if options.tensor_parallel % options.data_parallel:
        message = f"{options.data_parallel} attention groups do not divide {options.tensor_parallel} GPUs"
        yield Finding(Level.BLOCKER, "not-divisible", message)


def _obstacles(checkpoint: Checkpoint, split: int) -> Iterator[tuple[str, int]] | tuple[tuple[str, int], ...]:
    """What does not divide by `split`, with its size."""
    found: list[tuple[str, int]] = []
    model = checkpoint.model
    heads = {layer.heads for layer in model.layers if layer.heads}
    found += [("attention heads", count) for count in heads if count % split]
    groups = {layer.kv_heads for layer in model.layers if layer.kv_heads and model.latent is None}
    found += [("key-value heads", count) for count in groups if count % split and split % count]
    if model.recurrence is not None and model.recurrence.value_heads % split:
        found.append(("value heads of recurrent layers", model.recurrence.value_heads))
    moe = model.moe
    if moe is not None and moe.expert_size is not None:
        group = next((claim.group_size for claim in checkpoint.quantization.claims if claim.group_size), 1)
        if moe.expert_size % split:
            found.append(("expert width", moe.expert_size))
        elif (moe.expert_size // split) % group:
            found.append((f"expert width in groups of {group}", moe.expert_size))
    return tuple(found)
