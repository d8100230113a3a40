"""A first estimate of decode speed: bytes moved in one step over memory bandwidth, and the all-reduces.

One request, whose verification reads every weight its positions touch: dense weights once however many
positions, of the routed experts more the more positions there are. It is an estimate with its assumptions named;
what it can say firmly is how many tokens a verification must gain before drafting pays (`break_even`).
"""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.checkpoints.components import Component
from surefoot.errors import UnknownError
from surefoot.machines import datasheet_bandwidth
from surefoot.preflight.case import Case
from surefoot.preflight.memory.budget import MemoryBudget
from surefoot.preflight.memory.parts import Part

EFFICIENCY = 0.8
"""Share of the datasheet's bandwidth that decoding reaches (device copies on RTX PRO 6000: 1.4 of 1.6 TB/s)."""
REDUCE_SECONDS = {"nvlink": 8e-6, "pcie": 25e-6}
"""One small all-reduce; two of them a layer."""


@dataclass(frozen=True)
class Expectation:
    """Estimated seconds of one step of `width` positions, and of a plain one, on one GPU's share.

    `break_even` is the tau from which the strategy beats plain decoding, the drafter's own step included.
    """

    strategy: str
    width: int
    step_s: float
    plain_s: float
    draft_s: float
    assumptions: tuple[str, ...]

    @property
    def plain_tokens_per_second(self) -> float:
        """Plain decoding for one user."""
        return 1 / self.plain_s

    @property
    def break_even(self) -> float:
        """Tokens a verification must commit to be as fast as plain decoding."""
        return (self.step_s + self.draft_s) / self.plain_s

    def tokens_per_second(self, tau: float) -> float:
        """Speed at a given tau."""
        return tau / (self.step_s + self.draft_s)


def expect(case: Case, budget: MemoryBudget) -> Expectation:
    """The estimate for a planned case. Raises `UnknownError` when the GPU's bandwidth is not known."""
    gpus = case.host.machine.gpus[: case.options.gpus]
    bandwidth = datasheet_bandwidth(gpus[0]) if gpus else None
    if bandwidth is None:
        raise UnknownError("the memory bandwidth of this GPU is not known, so no speed is estimated")
    speed = bandwidth * EFFICIENCY
    cache = budget.token_bytes * case.workload.context / speed
    reduce = _reduce_seconds(case)
    plain = _weight_bytes(case, budget.static, 1) / speed + cache + reduce
    width = case.speculation.width
    step = _weight_bytes(case, budget.static, width) / speed + cache + reduce
    drafter = next((part.bytes for part in (*budget.static, *budget.outside) if part.name == "drafter"), 0)
    assumptions = [
        f"{bandwidth / 1e12:.2f} TB/s by the data sheet, {EFFICIENCY:.0%} of it reached",
        f"one request with {case.workload.context} tokens in its cache",
    ]
    if reduce:
        assumptions.append(f"two all-reduces a layer, {1e3 * reduce:.1f} ms a step")
    if case.target.model.moe is not None:
        assumptions.append("each position draws its experts independently and evenly")
    return Expectation(str(case.speculation), width, step, plain, drafter / speed, tuple(assumptions))


def touched_share(experts: int, top_k: int, positions: int) -> float:
    """Expected share of the experts that `positions` tokens touch, each drawing `top_k` of them evenly."""
    return 1 - (1 - top_k / experts) ** positions


def _weight_bytes(case: Case, parts: tuple[Part, ...], positions: int) -> float:
    """Bytes of weights that one step reads on one GPU. The embedding is looked up, towers are idle."""
    moe = case.target.model.moe
    share = touched_share(moe.experts, moe.top_k, positions) if moe and moe.top_k else 1.0
    routed = {str(Component.EXPERTS)}
    if moe is not None:
        routed.add(str(Component.SCALES))
    idle = {str(Component.VISION), "drafter", "image cache", "absorbed MLA copies"}
    if not case.target.model.tied_embeddings:
        idle.add(str(Component.EMBEDDINGS))
    active = case.target.promised
    read = 0.0
    for part in parts:
        if part.name in idle:
            continue
        if part.name == "weights" and moe is not None and active is not None:
            idle_share = (active.total - active.active) / active.total
            routed_share = min(1.0, idle_share / (1 - touched_share(moe.experts, moe.top_k or moe.experts, 1) or 1))
            read += part.bytes * (1 - routed_share + routed_share * share)
        else:
            read += part.bytes * (share if part.name in routed else 1)
    return read


def _reduce_seconds(case: Case) -> float:
    if case.options.tensor_parallel < 2:
        return 0.0
    accelerators = case.host.machine.accelerators
    kinds = {link.kind for link in accelerators.links} if accelerators else set()
    return 2 * len(case.target.model.layers) * REDUCE_SECONDS["nvlink" if "nvlink" in kinds else "pcie"]
