from __future__ import annotations

import io

import pytest
from rich.console import Console

from surefoot.benchmarks.answers import Divergence
from surefoot.benchmarks.comparison import compare
from surefoot.benchmarks.run_folder import BenchRun
from surefoot.reports.bench_table import render_bench
from tests.benchmarks.scripted import CONDITIONS, answer


def shown(width: int, *, complete: bool = True, loop: bool = False) -> str:
    answers = [answer("plain", f"p{i}", accepted=[0] * 10) for i in range(5)]
    answers += [answer("ddtree:4", f"p{i}", seconds=0.5, accepted=[1, 2]) for i in range(5)]
    if loop:
        answers += [answer(s, "loop", tokens=[1, 2] * 6, accepted=[n]) for s, n in (("plain", 0), ("ddtree:4", 9))]
    divergences = [Divergence("p0", "ddtree:4", 7, 1e-6, noise=True)]
    run = BenchRun(
        CONDITIONS, compare(answers, divergences, CONDITIONS.strategies, greedy=True), tuple(answers), complete
    )
    out = io.StringIO()
    render_bench(run, Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_figures_survive_any_width(width: int) -> None:
    text = " ".join(shown(width).split())
    for part in ("plain 10.0", "ddtree:4 20.0", "2.00", "2.50", "within numerical noise", "100% 50%", "ddtree:4 wins"):
        assert part in text
    assert "token 7 of p0" in text
    assert "\x1b" not in text


def test_an_interrupted_run_says_so() -> None:
    assert "Interrupted" in shown(100, complete=False)
    assert "Interrupted" not in shown(100)


def test_the_interval_stands_where_there_is_room_for_it() -> None:
    assert "2.00 (2.00-2.00)" in shown(80)
    assert "2.00 (2.00-2.00)" not in shown(60)


def test_what_the_speeds_leave_out_is_said() -> None:
    assert "leave the prefill out (median 100 ms with plain)" in shown(200)


def test_loops_are_said_with_tau_without_them() -> None:
    # tau of ten rounds that accept 1 or 2, and one loop's that accepts 9: 35 tokens in 11 rounds, 25 in 10
    text = shown(200, loop=True)
    assert "3.18" in text
    assert "1 of 6 answers repeat themselves, which flatters tau; without them it is plain 1.00, ddtree:4 2.50" in text
    assert "repeat" not in shown(200)
