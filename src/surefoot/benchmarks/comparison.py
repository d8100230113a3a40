"""From answers to a judgement: each strategy's figures, whether it is lossless, and which one wins and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from surefoot.benchmarks import statistics
from surefoot.benchmarks.answers import Answer, Divergence
from surefoot.decoding.rounds import Seconds

LOOPING = 0.5
"""An answer with a smaller share of distinct 4-grams repeats itself, and flatters tau."""


class Sameness(StrEnum):
    """How a strategy's greedy outputs compare to plain decoding's."""

    IDENTICAL = "identical"
    NOISE = "within numerical noise"
    DIFFERENT = "different"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class StrategyFigures:
    """One row of the comparison. `speedup` (ratio, low, high) is None without plain decoding beside it.

    `tokens_per_s` is the median over prompts, `tokens_per_s_spread` the quartiles, both without the prefill, whose
    median is `prefill_s`. `seconds` are the mean parts of a round, `round_cost` is its wall time in plain steps.
    `looping` counts answers that repeat themselves; `tau_without_loops` leaves them out.
    """

    strategy: str
    answers: int
    tokens_per_s: float
    tokens_per_s_spread: tuple[float, float]
    prefill_s: float
    speedup: tuple[float, float, float] | None
    round_cost: float | None
    tau: float
    tau_without_loops: float
    acceptance: tuple[float, ...]
    distinct_4grams: float
    looping: int
    seconds: Seconds
    sameness: Sameness


@dataclass(frozen=True)
class Comparison:
    """All strategies side by side, over all prompts and by prompt set, and what follows.

    `winner` is None when it cannot be said; `sentence` says it in words either way.
    """

    figures: tuple[StrategyFigures, ...]
    by_set: dict[str, tuple[StrategyFigures, ...]]
    divergences: tuple[Divergence, ...]
    winner: str | None
    sentence: str


def compare(
    answers: Sequence[Answer], divergences: Sequence[Divergence], strategies: Sequence[str], *, greedy: bool
) -> Comparison:
    """Compare what was measured. Only prompts that every one of `strategies` has answered count."""
    answered = [{a.prompt for a in answers if a.strategy == strategy} for strategy in strategies]
    shared = set.intersection(*answered) if answered else set()
    counted = [answer for answer in answers if answer.prompt in shared]
    figures = _figures(strategies, counted, divergences, greedy)
    sets = list(dict.fromkeys(answer.set for answer in counted))
    by_set = {
        name: _figures(strategies, [answer for answer in counted if answer.set == name], divergences, greedy)
        for name in sets
    }
    winner, sentence = _judge(figures)
    if not greedy and len(figures) > 1:
        sentence += " Outputs are not compared, as they are sampled."
    return Comparison(figures, by_set, tuple(divergences), winner, sentence)


def _figures(
    strategies: Sequence[str], answers: Sequence[Answer], divergences: Sequence[Divergence], greedy: bool
) -> tuple[StrategyFigures, ...]:
    if not answers:
        return ()
    groups = {name: [answer for answer in answers if answer.strategy == name] for name in strategies}
    plain = groups.get("plain")
    rows = []
    for name, group in groups.items():
        prompts = {answer.prompt for answer in group}
        own = [d for d in divergences if d.strategy == name and d.prompt in prompts]
        distinct = [statistics.distinct_4grams(answer.tokens) for answer in group]
        steady = [answer for answer, share in zip(group, distinct, strict=True) if share >= LOOPING]
        rows.append(
            StrategyFigures(
                name,
                len(group),
                statistics.median([answer.tokens_per_s for answer in group]),
                statistics.quartiles([answer.tokens_per_s for answer in group]),
                statistics.median([answer.prefill_s for answer in group]),
                statistics.speedup_interval(group, plain) if plain else None,
                statistics.round_cost(group, plain) if plain else None,
                statistics.tau(group),
                statistics.tau(steady),
                statistics.acceptance_by_depth(group),
                sum(distinct) / len(group),
                len(group) - len(steady),
                _mean_round(group),
                _sameness(own) if plain and greedy else Sameness.NOT_COMPARED,
            )
        )
    return tuple(rows)


def _mean_round(answers: Sequence[Answer]) -> Seconds:
    rounds = max(1, sum(len(answer.accepted) for answer in answers))
    parts = ("draft", "tree", "verify", "commit")
    return Seconds(*(sum(getattr(answer.seconds, part) for answer in answers) / rounds for part in parts))


def _sameness(divergences: Sequence[Divergence]) -> Sameness:
    if not divergences:
        return Sameness.IDENTICAL
    return Sameness.NOISE if all(d.noise for d in divergences) else Sameness.DIFFERENT


def _judge(figures: Sequence[StrategyFigures]) -> tuple[str | None, str]:
    if not figures:
        return None, "Nothing was measured to its end, so no strategy can be named."
    different = [row.strategy for row in figures if row.sameness is Sameness.DIFFERENT]
    note = f" Not considered, as outputs differ from plain: {', '.join(different)}." if different else ""
    fit = [row for row in figures if row.strategy not in different]
    best = max(fit, key=_speed)
    if best.speedup is None:
        return best.strategy, (
            f"{best.strategy} is the fastest of those measured, at {best.tokens_per_s:.1f} tokens/s; plain decoding "
            f"was not measured, so no speed-up can be claimed.{note}"
        )
    if best.strategy == "plain":
        return "plain", _plain_wins(fit) + note
    if _certain(best):
        rest = [row for row in fit if row is not best and row.strategy != "plain"]
        second = max(rest, key=_speed, default=None)
        ahead = f", ahead of {second.strategy} at {_speed(second):.2f}x" if second else ""
        return best.strategy, f"{best.strategy} wins at {_margin(best)}{ahead}: {_why(best)}.{note}"
    doubt = "is too few prompts to tell" if best.answers < statistics.ENOUGH_PROMPTS else "does not exclude 1"
    return None, (
        f"No winner: {best.strategy} measured {_margin(best)}, which {doubt} ({_why(best)}). "
        f"Measure more prompts.{note}"
    )


def _certain(row: StrategyFigures) -> bool:
    """Faster than plain, on prompts enough, with an interval that excludes 1."""
    return row.speedup is not None and row.answers >= statistics.ENOUGH_PROMPTS and row.speedup[1] > 1


def _margin(row: StrategyFigures) -> str:
    """Speed over plain, with its interval where there are prompts enough for one."""
    assert row.speedup is not None
    ratio, low, high = row.speedup
    if row.answers < statistics.ENOUGH_PROMPTS:
        return f"{ratio:.2f}x plain on {row.answers} prompt{'s' if row.answers > 1 else ''}"
    return f"{ratio:.2f}x plain (95% {low:.2f}-{high:.2f})"


def _why(row: StrategyFigures) -> str:
    """Speculation pays by what a round commits over what it costs."""
    return f"a round commits {row.tau:.2f} tokens and costs {row.round_cost:.2f} plain steps"


def _speed(row: StrategyFigures) -> float:
    return row.speedup[0] if row.speedup else row.tokens_per_s


def _plain_wins(fit: Sequence[StrategyFigures]) -> str:
    others = [row for row in fit if row.strategy != "plain" and row.speedup]
    if not others:
        return "plain is the only strategy that can be named."
    best = max(others, key=_speed)
    return f"plain wins: the best of the others, {best.strategy}, runs at {_margin(best)}, as {_why(best)}."
