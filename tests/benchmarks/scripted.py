"""A decoder that follows a script, and answers made by hand: benchmarks are tested without a model."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from surefoot.benchmarks.answers import Answer, Conditions, Prompt
from surefoot.decoding.rounds import Round, Sampling, Seconds

PROMPTS = tuple((Prompt(f"p{i}", "code" if i % 2 else "chat", f"text {i}"), [i + 1, i + 2]) for i in range(4))


class Scripted:
    """Commits `answer`, `stride` tokens a round, sleeping `pause` seconds each."""

    def __init__(self, answer: Sequence[int], stride: int = 1, pause: float = 0.0, gap: float = 1.0) -> None:
        self.answer, self.stride, self.pause, self.gap = list(answer), stride, pause, gap
        self.asked: list[list[int]] = []
        self.calls: list[int] = []

    def generate(self, prompt: Sequence[int], sampling: Sampling) -> Iterator[Round]:
        self.calls.append(sampling.max_tokens)
        answer = self.answer[: sampling.max_tokens]
        yield Round(tuple(answer[:1]), prefill=True)
        for at in range(1, len(answer), self.stride):
            time.sleep(self.pause)
            tokens = tuple(answer[at : at + self.stride])
            yield Round(tokens, self.stride - 1, 4, 3, Seconds(1.0, 2.0, 3.0, 4.0))

    def top_gap(self, tokens: Sequence[int]) -> float:
        self.asked.append(list(tokens))
        return self.gap


def answer(
    strategy: str,
    prompt: str = "p0",
    *,
    seconds: float = 1.0,
    tokens: Sequence[int] = range(11),
    accepted: Sequence[int] = (),
) -> Answer:
    """Ten decoded tokens behind the first, in `seconds`."""
    return Answer(
        prompt, "code", strategy, tuple(tokens), "text", 0.1, seconds, tuple(accepted), 0, Seconds(1, 2, 3, 4)
    )


CONDITIONS = Conditions(
    "target", "drafter", "engine", "cpu", "float32", 2, ("plain", "ddtree:4"), 4, "own", 8, 0, 0, "command", "now", {}
)  # fmt: skip
