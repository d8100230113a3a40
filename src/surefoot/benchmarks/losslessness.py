"""Whether a strategy's greedy outputs are plain decoding's, and if not, whether rounding alone explains it."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.benchmarks.answers import Answer, Divergence, Prompt
from surefoot.benchmarks.runner import Decodes

NOISE_GAPS = {"float32": 1e-3, "bfloat16": 0.25}
"""Two best logits this near to each other may swap by rounding alone. In bfloat16, logits from 16 to 32 lie 0.125
apart, and two products of different width may each round to the far side."""


def find_divergences(
    answers: Sequence[Answer], prompts: Sequence[tuple[Prompt, Sequence[int]]], plain: Decodes, dtype: str
) -> tuple[Divergence, ...]:
    """Where greedy answers leave plain decoding's, each judged by the target's own top-1/top-2 gap there."""
    ids = {prompt.id: list(tokens) for prompt, tokens in prompts}
    reference = {answer.prompt: answer.tokens for answer in answers if answer.strategy == "plain"}
    found = []
    for answer in answers:
        expected = reference.get(answer.prompt)
        if expected is None or answer.tokens == expected:
            continue
        index = next(
            (i for i, (a, b) in enumerate(zip(answer.tokens, expected, strict=False)) if a != b),
            min(len(answer.tokens), len(expected)),
        )
        ends = index == min(len(answer.tokens), len(expected))
        gap = None if ends else plain.top_gap([*ids[answer.prompt], *expected[:index]])
        noise = gap is not None and gap < NOISE_GAPS[dtype]
        found.append(Divergence(answer.prompt, answer.strategy, index, gap, noise))
    return tuple(found)
