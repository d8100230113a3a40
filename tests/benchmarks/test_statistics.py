from __future__ import annotations

import pytest

from surefoot.benchmarks.statistics import (
    acceptance_by_depth,
    distinct_4grams,
    median,
    quartiles,
    round_cost,
    speedup_interval,
    tau,
)
from tests.benchmarks.scripted import answer


def test_tau_counts_every_rounds_own_token() -> None:
    # rounds accept 2, 0 and 1 drafts: 3 + 1 + 2 tokens in 3 rounds
    assert tau([answer("x", accepted=[2, 0]), answer("x", accepted=[1])]) == 2.0
    assert tau([answer("x")]) == 0.0


def test_acceptance_by_depth() -> None:
    assert acceptance_by_depth([answer("x", accepted=[3, 1, 0, 1])]) == (0.75, 0.25, 0.25)
    assert acceptance_by_depth([answer("x", accepted=[0])]) == ()


def test_distinct_4grams() -> None:
    assert distinct_4grams([1, 2, 3, 4, 5]) == 1.0
    assert distinct_4grams([7] * 13) == 0.1
    assert distinct_4grams([1, 2]) == 1.0


def test_quartiles_and_median() -> None:
    assert quartiles([1, 2, 3, 4, 5]) == (2.0, 4.0)
    assert quartiles([1, 2]) == (1.25, 1.75)
    assert quartiles([]) == (0.0, 0.0)
    assert median([5, 1, 3]) == 3


def test_a_constant_ratio_has_no_width() -> None:
    plain = [answer("plain", f"p{i}", seconds=1.0 + i) for i in range(6)]
    fast = [answer("x", f"p{i}", seconds=(1.0 + i) / 2) for i in range(6)]
    assert speedup_interval(fast, plain) == pytest.approx((2.0, 2.0, 2.0))


def test_the_ratio_is_the_geometric_mean_and_the_interval_holds_it() -> None:
    plain = [answer("plain", f"p{i}", seconds=1.0) for i in range(2)]
    fast = [answer("x", "p0", seconds=0.5), answer("x", "p1", seconds=0.125)]
    ratio, low, high = speedup_interval(fast, plain)
    assert ratio == pytest.approx(4.0)  # sqrt(2 * 8)
    assert (low, high) == pytest.approx((2.0, 8.0))


def test_one_stalled_prompt_does_not_decide() -> None:
    plain = [answer("plain", f"p{i}") for i in range(23)] + [answer("plain", "p23", seconds=100.0)]
    slow = [answer("x", f"p{i}", seconds=1.5) for i in range(24)]
    assert speedup_interval(slow, plain)[0] < 1


def test_a_rounds_cost_is_its_wall_time_in_plain_steps() -> None:
    plain = [answer("plain", f"p{i}", seconds=1.0, accepted=[0] * 10) for i in range(2)]  # 0.1 s a step
    tree = [answer("x", "p0", seconds=1.0, accepted=[1] * 5), answer("x", "p1", seconds=1.6, accepted=[3] * 2)]
    assert round_cost(tree, plain) == pytest.approx(4.0)  # sqrt(0.2 / 0.1 * 0.8 / 0.1)
    assert round_cost([answer("x")], [answer("plain")]) == 0.0
