"""Run the strategies over the prompts, in turns, and keep every answer as it comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from surefoot.benchmarks.answers import Answer, Prompt
from surefoot.decoding.rounds import Round, Sampling, Seconds

WARM_UP = 8
"""Tokens of the first prompt that every strategy decodes before anything is measured."""


class Decodes(Protocol):
    """What a benchmark asks of a decoder."""

    def generate(self, prompt: Sequence[int], sampling: Sampling) -> Iterator[Round]: ...

    def top_gap(self, tokens: Sequence[int]) -> float: ...


def measure(
    decoders: Mapping[str, Decodes],
    prompts: Sequence[tuple[Prompt, Sequence[int]]],
    sampling: Sampling,
    *,
    decode_text: Callable[[Sequence[int]], str],
    keep: Callable[[Answer], None],
) -> None:
    """Decode every prompt with every strategy and hand each `Answer` to `keep` at once.

    The strategies take turns on each prompt, in an order that rotates, so that drift of the machine hits all alike.
    """
    names = list(decoders)
    for name in names:
        for _ in decoders[name].generate(prompts[0][1], _short(sampling)):
            pass
    for turn, (prompt, ids) in enumerate(prompts):
        for offset in range(len(names)):
            name = names[(turn + offset) % len(names)]
            keep(_answer(decoders[name], name, prompt, ids, sampling, decode_text))


def _short(sampling: Sampling) -> Sampling:
    return Sampling(min(WARM_UP, sampling.max_tokens), sampling.temperature, sampling.seed, sampling.stop)


def _answer(
    decoder: Decodes,
    name: str,
    prompt: Prompt,
    ids: Sequence[int],
    sampling: Sampling,
    decode_text: Callable[[Sequence[int]], str],
) -> Answer:
    start = time.perf_counter()
    rounds = decoder.generate(ids, sampling)
    first = next(rounds)
    prefilled = time.perf_counter()
    rest = list(rounds)
    ended = time.perf_counter()
    tokens = tuple(token for done in (first, *rest) for token in done.tokens)
    parts = ("draft", "tree", "verify", "commit")
    return Answer(
        prompt.id,
        prompt.set,
        name,
        tokens,
        decode_text(tokens),
        prefilled - start,
        ended - prefilled,
        tuple(done.accepted for done in rest),
        sum(done.drafted for done in rest),
        Seconds(*(sum(getattr(done.seconds, part) for done in rest) for part in parts)),
    )
