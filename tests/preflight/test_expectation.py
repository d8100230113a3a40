"""The estimate against sums worked out by hand, and the share of experts against counting."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest

from surefoot.errors import UnknownError
from surefoot.hosts import Host
from surefoot.preflight.expectation import EFFICIENCY, REDUCE_SECONDS, expect, touched_share
from surefoot.preflight.plan import plan

from .conftest import kimi


def test_touched_share_by_counting() -> None:
    """All ways in which 2 tokens choose 1 of 3 experts: 3 times one expert, 6 times two."""
    drawn = [len(set(pair)) for pair in itertools.product(range(3), repeat=2)]
    assert touched_share(3, 1, 2) == pytest.approx(float(Fraction(sum(drawn), 3 * len(drawn))))
    assert touched_share(384, 8, 1) == pytest.approx(8 / 384)
    assert touched_share(4, 4, 5) == 1


def test_a_plain_step_of_the_founding_case_by_hand() -> None:
    planned = plan(kimi(draft=False).with_strategy("plain", None))
    assert planned.budget is not None
    found = expect(planned.case, planned.budget)
    parts = {part.name: part.bytes for part in planned.budget.static}
    whole = sum(parts[name] for name in ("attention", "shared experts", "routers", "head", "dense MLP", "norms"))
    routed = (parts["routed experts"] + parts["scales and zeros"]) * 8 / 384
    speed = 1597e9 * EFFICIENCY
    cache = 70_272 * 32_768
    reduce = 2 * 61 * REDUCE_SECONDS["pcie"]
    assert found.plain_s == pytest.approx((whole + routed + cache) / speed + reduce, rel=1e-6)
    assert found.step_s == found.plain_s
    assert found.break_even == 1


def test_wider_verification_costs_more_on_experts() -> None:
    case = kimi()
    costs = []
    for kind, budget in (("dflash", None), ("ddtree", 15), ("ddtree", 64)):
        planned = plan(case.with_strategy(kind, budget))
        assert planned.budget is not None
        costs.append(expect(planned.case, planned.budget).break_even)
    assert 1 < costs[0] < costs[1] < costs[2]


def test_an_unknown_gpu_is_not_estimated() -> None:
    planned = plan(kimi(draft=False).with_strategy("plain", None))
    assert planned.budget is not None
    machine = planned.case.host.machine
    assert machine.accelerators is not None
    odd = tuple(replace(gpu, name="GPU of tomorrow", memory_bandwidth=None) for gpu in machine.gpus)
    other = replace(machine, accelerators=replace(machine.accelerators, gpus=odd))
    with pytest.raises(UnknownError, match="bandwidth"):
        expect(replace(planned.case, host=Host(other)), planned.budget)
