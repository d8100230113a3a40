"""A benchmark on the terminal: the table, the sets, and the sentence that says which strategy wins and why."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from surefoot.benchmarks.comparison import Comparison, Sameness, StrategyFigures
from surefoot.benchmarks.run_folder import BenchRun
from surefoot.benchmarks.statistics import ENOUGH_PROMPTS

COLOURS = {
    Sameness.IDENTICAL: "green",
    Sameness.NOISE: "yellow",
    Sameness.DIFFERENT: "red",
    Sameness.NOT_COMPARED: "dim",
}
WIDE = 124
"""Columns from which all figures stand in one table; narrower terminals get two."""
NARROW = 80
"""Columns below which the intervals of speed-ups are left to the sentence."""


def render_bench(run: BenchRun, console: Console) -> None:
    """Print `run` on `console`."""
    conditions, comparison = run.conditions, run.comparison
    console.print(
        Text(
            f"{conditions.target} + {conditions.drafter}, {conditions.dtype} on {conditions.device}, "
            f"{conditions.threads} threads; {conditions.prompts} prompts, up to {conditions.max_tokens} tokens, "
            f"temperature {conditions.temperature:g}",
            style="dim",
        )
    )
    if comparison.figures:
        console.print(_tables(comparison, console.width))
        console.print(_sets(comparison))
    for line in _cautions(comparison):
        console.print(Text(line, style="dim"))
    for divergence in comparison.divergences:
        console.print(
            f"{divergence.strategy} leaves plain at token {divergence.index} of {divergence.prompt}, where "
            + ("one of them ends" if divergence.gap is None else f"the two best logits differ by {divergence.gap:.2g}"),
            style="yellow",
        )
    if not run.complete:
        console.print(
            "Interrupted: the figures are those of the prompts that every strategy had answered.", style="yellow"
        )
    console.print(Text(comparison.sentence, style="bold"))


def _cautions(comparison: Comparison) -> list[str]:
    """What has to be known to read the figures."""
    if not comparison.figures:
        return []
    first = comparison.figures[0]
    lines = [f"tok/s leave the prefill out (median {1e3 * first.prefill_s:.0f} ms with {first.strategy})"]
    looping = [row for row in comparison.figures if row.looping]
    if looping:
        taus = ", ".join(f"{row.strategy} {row.tau_without_loops:.2f}" for row in looping if row.tau_without_loops)
        most = max(row.looping for row in looping)
        without = f"; without them it is {taus}" if taus else ""
        lines.append(f"{most} of {first.answers} answers repeat themselves, which flatters tau{without}")
    return lines


def _ratio(row: StrategyFigures, interval: bool) -> str:
    if row.speedup is None:
        return "-"
    ratio, low, high = row.speedup
    known = interval and row.strategy != "plain" and row.answers >= ENOUGH_PROMPTS
    return f"{ratio:.2f} ({low:.2f}-{high:.2f})" if known else f"{ratio:.2f}"


def _tables(comparison: Comparison, width: int) -> RenderableType:
    figures = comparison.figures
    if width >= WIDE:
        return _table(figures, speed=True, parts=True)
    return Group(
        _table(figures, speed=True, parts=False, interval=width >= NARROW), _table(figures, speed=False, parts=True)
    )


def _table(figures: tuple[StrategyFigures, ...], *, speed: bool, parts: bool, interval: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("strategy", no_wrap=True)
    columns = ["tok/s", "quartiles", "x plain (95%)" if interval else "x plain", "tau", "outputs"] if speed else []
    columns += ["accept 1 2 3 4", "4-grams", "draft", "tree", "verify", "commit ms"] if parts else []
    for name in columns:
        left = name == "outputs"
        table.add_column(name, justify="left" if left else "right", no_wrap=not left, overflow="fold")
    for row in figures:
        cells = [row.strategy]
        if speed:
            low, high = row.tokens_per_s_spread
            ratio = _ratio(row, interval)
            same = f"[{COLOURS[row.sameness]}]{row.sameness}[/]"
            cells += [f"{row.tokens_per_s:.1f}", f"{low:.1f}-{high:.1f}", ratio, f"{row.tau:.2f}", same]
        if parts:
            depths = " ".join(f"{share:.0%}" for share in row.acceptance[:4]) or "-"
            s = row.seconds
            cells += [
                depths,
                f"{row.distinct_4grams:.2f}",
                *(f"{1e3 * t:.2f}" for t in (s.draft, s.tree, s.verify, s.commit)),
            ]
        table.add_row(*cells)
    return table


def _sets(comparison: Comparison) -> Table:
    """Tau and speed by prompt set: code is easier to draft than chat."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("by set: tau, x plain", no_wrap=True)
    for name in comparison.by_set:
        table.add_column(name, justify="right", no_wrap=True)
    for i, row in enumerate(comparison.figures):
        cells = []
        for figures in comparison.by_set.values():
            ratio = f" {figures[i].speedup[0]:.2f}x" if figures[i].speedup else ""  # type: ignore[index]
            cells.append(f"{figures[i].tau:.2f}{ratio}")
        table.add_row(row.strategy, *cells)
    return table
