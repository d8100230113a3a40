from __future__ import annotations

import io

import pytest
from rich.console import Console

from surefoot.benchmarks.answers import Divergence
from surefoot.benchmarks.comparison import compare
from surefoot.benchmarks.run_folder import BenchRun
from surefoot.reports.bench_table import render_bench
from tests.benchmarks.scripted import CONDITIONS, answer


def shown(width: int, *, complete: bool = True) -> str:
    answers = [answer("plain", accepted=[0] * 10), answer("ddtree:4", seconds=0.5, accepted=[1, 2])]
    divergences = [Divergence("p0", "ddtree:4", 7, 1e-6)]
    run = BenchRun(CONDITIONS, compare(answers, divergences, greedy=True), tuple(answers), complete)
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
