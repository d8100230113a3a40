"""The figures of a comparison, each from the answers alone: tau, acceptance by depth, repetition, intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from surefoot.benchmarks.answers import Answer

RESAMPLES = 2000
ENOUGH_PROMPTS = 5
"""With fewer prompts a bootstrap interval is far too narrow to decide anything."""


def tau(answers: Sequence[Answer]) -> float:
    """Mean tokens committed per verification: accepted drafts + 1, before any cut by a stop token or the limit."""
    rounds = [accepted for answer in answers for accepted in answer.accepted]
    return sum(accepted + 1 for accepted in rounds) / len(rounds) if rounds else 0.0


def acceptance_by_depth(answers: Sequence[Answer]) -> tuple[float, ...]:
    """Share of rounds that accepted at least 1, 2, 3, ... drafts, as far as any did."""
    rounds = [accepted for answer in answers for accepted in answer.accepted]
    return tuple(sum(a >= depth for a in rounds) / len(rounds) for depth in range(1, max(rounds, default=0) + 1))


def distinct_4grams(tokens: Sequence[int]) -> float:
    """Distinct 4-grams over all 4-grams: 1 where nothing repeats, near 0 for looping text (which fakes a tau)."""
    total = len(tokens) - 3
    return len({tuple(tokens[i : i + 4]) for i in range(total)}) / total if total > 0 else 1.0


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """Lower and upper quartile, linearly interpolated."""
    ordered = sorted(values)
    return _at(ordered, 0.25), _at(ordered, 0.75)


def _at(ordered: Sequence[float], share: float) -> float:
    if not ordered:
        return 0.0
    place = share * (len(ordered) - 1)
    low = int(place)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def median(values: Sequence[float]) -> float:
    """The median; 0 of nothing."""
    return _at(sorted(values), 0.5)


def speedup_interval(answers: Sequence[Answer], plain: Sequence[Answer]) -> tuple[float, float, float]:
    """Speed over plain's with its 95 % bootstrap interval: (ratio, low, high).

    Both sequences hold the same prompts in the same order. The ratio is the geometric mean of the prompts' own
    ratios, so that one prompt during which the machine stalled cannot decide; prompts are resampled, seeded.
    """
    logs = [
        math.log(answer.tokens_per_s / base.tokens_per_s)
        for answer, base in zip(answers, plain, strict=True)
        if answer.tokens_per_s > 0 and base.tokens_per_s > 0
    ]
    if not logs:
        return 0.0, 0.0, 0.0
    generator = random.Random(0)
    means = sorted(sum(generator.choices(logs, k=len(logs))) / len(logs) for _ in range(RESAMPLES))
    low, high = means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]
    return math.exp(sum(logs) / len(logs)), math.exp(low), math.exp(high)


def round_cost(answers: Sequence[Answer], plain: Sequence[Answer]) -> float:
    """What a round costs in plain steps, on the wall clock: the geometric mean over prompts; 0 of nothing.

    Both sequences hold the same prompts in the same order.
    """
    logs = [
        math.log((answer.decode_s / len(answer.accepted)) / (base.decode_s / len(base.accepted)))
        for answer, base in zip(answers, plain, strict=True)
        if answer.accepted and base.accepted and answer.decode_s > 0 and base.decode_s > 0
    ]
    return math.exp(sum(logs) / len(logs)) if logs else 0.0
