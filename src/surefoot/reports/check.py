"""The screen of a check, read top down: verdict, strategies, what decides, the budget as a bar, the command."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from surefoot.evidence import Finding, Level, Verdict
from surefoot.preflight.answer import Answer, StrategyAnswer
from surefoot.preflight.memory import MemoryBudget, total
from surefoot.reports.card import findings_text
from surefoot.units import binary, both

STYLES = {
    Verdict.GO: "bold green", Verdict.GO_WITH_CHANGES: "bold yellow", Verdict.NO_GO: "bold red",
    Verdict.UNKNOWN: "bold magenta",
}  # fmt: skip
_COLOURS = ("blue", "cyan", "green", "yellow", "white")


def show_answer(console: Console, answer: Answer, *, explain: bool = False) -> None:
    """Print the answer; `explain` adds every finding, every part of the budget and every flag's reason."""
    _head(console, answer)
    console.print(_strategies(answer))
    console.print()
    shown = list(answer.deciding) if explain else _brief(answer.deciding)
    if explain:
        shown += [finding for finding in answer.findings if finding.level is Level.OK]
        shown += [f for entry in answer.strategies for f in entry.findings if f.level is Level.OK and f not in shown]
    console.print(findings_text(shown))
    notes = sum(1 for finding in answer.deciding if finding.level is Level.NOTE)
    if notes and not explain:
        console.print(Text(f"· {notes} more notes: --explain", style="dim"))
    entry = _shown(answer)
    if entry is None:
        return
    if entry.budget is not None:
        _budget(console, entry, entry.budget, explain=explain)
    if entry.command is not None and entry.launch is not None:
        title = "command" if entry.verdict is not Verdict.NO_GO else "command, once the blockers are gone"
        console.print(Text(f"\n{title} ({entry.strategy})", style="bold"))
        for name, reason in entry.launch.environment:
            console.print(Text(f"  # needs {name}: {reason}", style="dim"))
        if explain:
            console.print(_flags(entry))
        console.print(Text(entry.command), soft_wrap=True)
    if explain:
        _evidence(console, answer, entry)


def _brief(findings: Iterable[Finding]) -> list[Finding]:
    """Without notes, and of findings that repeat for every strategy the first."""
    first: dict[tuple[str, Level, str | None], Finding] = {}
    for finding in findings:
        if finding.level is not Level.NOTE:
            repeats = finding.code.startswith("default-fraction")
            first.setdefault((finding.code, finding.level, None if repeats else finding.message), finding)
    return list(first.values())


def _head(console: Console, answer: Answer) -> None:
    what = answer.target + (f" + {answer.drafter}" if answer.drafter else "")
    console.print(Text(str(answer.verdict).upper(), style=STYLES[answer.verdict]), Text(what, style="bold"))
    load = f"{answer.workload.concurrency} x {answer.workload.context} tokens"
    console.print(Text(f"on {answer.machine} ({answer.gpus}), {answer.engine}, {load}\n", style="dim"))


def _strategies(answer: Answer) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("strategy", "verdict", "fraction", "cache", "requests", "estimate for one user"):
        table.add_column(name, overflow="fold")
    for entry in answer.strategies:
        window = entry.window
        fraction = f"{window.lowest:.3f} to {window.highest:.3f}" if window else "unknown"
        if window and window.lowest > window.highest:
            fraction = "none works"
        table.add_row(
            entry.strategy,
            Text(str(entry.verdict), style=STYLES[entry.verdict]),
            fraction,
            f"{window.max_tokens} tokens" if window else "unknown",
            str(window.max_requests) if window else "unknown",
            _speed(entry),
        )
    return table


def _speed(entry: StrategyAnswer) -> str:
    expected = entry.expectation
    if expected is None:
        return "unknown"
    if expected.width == 1:
        return f"about {expected.plain_tokens_per_second:.0f} tokens/s"
    return f"faster than plain from tau {expected.break_even:.2f}"


def _shown(answer: Answer) -> StrategyAnswer | None:
    """The strategy whose budget and command are printed: the last one that goes, else the last one planned."""
    entries = answer.strategies
    going = [entry for entry in entries if entry.verdict in (Verdict.GO, Verdict.GO_WITH_CHANGES)]
    for found in (going, [e for e in entries if e.launch], [e for e in entries if e.budget]):
        if found:
            return found[-1]
    return None


def _budget(console: Console, entry: StrategyAnswer, budget: MemoryBudget, *, explain: bool) -> None:
    console.print(Text(f"\nmemory of one GPU ({entry.strategy}): {binary(budget.gpu_bytes)}", style="bold"))
    weights, outside = budget.weights, total(budget.outside)
    gone = max(0, budget.gpu_bytes - budget.before)
    state = budget.pool.state_bytes
    cache = max(0, int(budget.before * budget.fraction) - weights - state)
    parts = [
        ("weights", weights), ("recurrent state", state), ("cache", cache), ("activations, graphs, buffers", outside),
        ("context and others", gone),
    ]  # fmt: skip
    width = max(20, min(console.width, 100) - 4)
    bar, legend = Text("  "), []
    for (name, size), colour in zip(parts, _COLOURS, strict=True):
        if size:
            bar.append("█" * max(1, round(width * size / max(budget.gpu_bytes, 1))), style=colour)
            legend.append(Text.assemble(("■ ", colour), f"{name} {binary(size)}"))
    console.print(bar, overflow="crop", no_wrap=True)
    console.print(Padding(Text("  ").join(legend), (0, 0, 0, 2)))
    if explain:
        console.print(Padding(_parts(budget), (1, 0, 0, 2)))


def _parts(budget: MemoryBudget) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("part")
    table.add_column("bytes", justify="right")
    table.add_column("how", overflow="fold")
    for place, parts in (("static", budget.static), ("outside", budget.outside)):
        for part in parts:
            table.add_row(f"{place}: {part.name}", str(part.bytes), f"{part.how} ({part.method})")
    table.add_row("cache: a token", str(budget.token_bytes), "target and drafter, on this GPU")
    if budget.pool.state:
        table.add_row("cache: a recurrent state", str(budget.pool.state), "of one request or one verified node")
    return table


def _flags(entry: StrategyAnswer) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for flag in entry.launch.flags if entry.launch else ():
        table.add_row(escape(f"{flag.name} {flag.value or ''}".strip()), escape(flag.reason))
    return table


def _evidence(console: Console, answer: Answer, entry: StrategyAnswer) -> None:
    console.print(Text("\nattention backends", style="bold"))
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("backend", "registered", "choosable", f"works with {entry.strategy}", "why not"):
        table.add_column(name, overflow="fold")
    for backend in entry.backends:
        works = {True: "yes", False: "no", None: "unknown"}[backend.works]
        table.add_row(
            backend.name, "yes" if backend.registered else "no", "yes" if backend.choosable else "no", works,
            escape(backend.reason),
        )  # fmt: skip
    console.print(table)
    for need in answer.disk:
        console.print(Text(f"\ndisk: {need.role}", style="bold"))
        for name, size in need.parts:
            console.print(Text(f"  {name}: {both(size)}"))
    if entry.expectation is not None:
        console.print(Text("\nthe estimate assumes", style="bold"))
        for line in entry.expectation.assumptions:
            console.print(Text(f"  {line}"))
        expected = entry.expectation
        console.print(
            Text(
                f"  one step: plain {1e3 * expected.plain_s:.2f} ms; {expected.width} positions "
                f"{1e3 * expected.step_s:.2f} ms; drafter {1e3 * expected.draft_s:.2f} ms"
            )
        )


def show_comparison(console: Console, answers: list[Answer]) -> None:
    """Several machines or engines side by side: one column each."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for answer in answers:
        table.add_column(f"{answer.machine}\n{answer.engine}", overflow="fold")
    rows: dict[str, list[str | Text]] = {"verdict": [Text(str(a.verdict), style=STYLES[a.verdict]) for a in answers]}
    names = list(dict.fromkeys(entry.strategy for answer in answers for entry in answer.strategies))
    for name in names:
        entries = [next((e for e in answer.strategies if e.strategy == name), None) for answer in answers]
        rows[name] = [Text(str(e.verdict), style=STYLES[e.verdict]) if e else "" for e in entries]
        rows["  attention"] = [_backend(e) for e in entries]
        rows[f"  fraction ({name})"] = [
            "unknown" if e is None or e.window is None
            else "none works" if e.window.lowest > e.window.highest
            else f"{e.window.lowest:.3f} to {e.window.highest:.3f}, default {e.window.default:.3f}"
            for e in entries
        ]  # fmt: skip
        rows[f"  cache ({name})"] = [f"{e.window.max_tokens} tokens" if e and e.window else "unknown" for e in entries]
        rows[f"  speed ({name})"] = [_speed(e) if e else "" for e in entries]
    rows["blockers"] = ["\n".join(f.code for f in a.deciding if f.level is Level.BLOCKER) or "none" for a in answers]
    rows["warnings"] = ["\n".join(f.code for f in a.deciding if f.level is Level.WARNING) or "none" for a in answers]
    for name, cells in rows.items():
        table.add_row(name, *cells)
    console.print(table)


def _backend(entry: StrategyAnswer | None) -> str:
    flags = entry.launch.flags if entry and entry.launch else ()
    return next((flag.value or "" for flag in flags if flag.name == "--attention-backend"), "the engine's choice")
