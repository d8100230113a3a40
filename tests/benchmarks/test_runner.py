from __future__ import annotations

import pytest

from surefoot.benchmarks.answers import Answer
from surefoot.benchmarks.runner import measure
from surefoot.decoding.rounds import Sampling
from tests.benchmarks.scripted import PROMPTS, Scripted

SAMPLING = Sampling(7)


def run(decoders: dict[str, Scripted]) -> list[Answer]:
    answers: list[Answer] = []
    measure(decoders, PROMPTS, SAMPLING, decode_text=lambda ids: " ".join(map(str, ids)), keep=answers.append)
    return answers


def test_answers_hold_what_the_rounds_said() -> None:
    first = run({"ddtree:4": Scripted(range(7), stride=3)})[0]
    assert first.tokens == (0, 1, 2, 3, 4, 5, 6)
    assert first.text == "0 1 2 3 4 5 6"
    assert first.accepted == (2, 2)
    assert first.drafted == 8
    assert (first.seconds.draft, first.seconds.commit) == (2.0, 8.0)
    assert (first.prompt, first.set) == ("p0", "chat")


def test_strategies_take_turns_in_rotating_order() -> None:
    answers = run({"a": Scripted(range(3)), "b": Scripted(range(3)), "c": Scripted(range(3))})
    assert "".join(a.strategy for a in answers) == "abcbcacababc"


def test_every_strategy_is_warmed_up_before_anything_is_kept() -> None:
    decoders = {"a": Scripted(range(9)), "b": Scripted(range(9))}
    assert len(run(decoders)) == 8
    assert decoders["a"].calls == [7, 7, 7, 7, 7]


def test_speed_leaves_the_prefill_out() -> None:
    slow = run({"a": Scripted(range(5), pause=0.01)})[0]
    assert slow.tokens_per_s == pytest.approx(4 / slow.decode_s)
    assert slow.decode_s >= 0.04
