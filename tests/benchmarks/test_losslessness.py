from __future__ import annotations

import pytest

from surefoot.benchmarks.losslessness import find_divergences
from tests.benchmarks.scripted import PROMPTS, Scripted
from tests.benchmarks.test_runner import run


def test_divergences_are_judged_by_the_targets_own_gap() -> None:
    plain = Scripted([1, 2, 3, 4], gap=0.25)
    answers = run({"plain": plain, "same": Scripted([1, 2, 3, 4]), "leaky": Scripted([1, 2, 9, 4])})
    found = find_divergences(answers, PROMPTS, plain, "float32")
    assert {d.strategy for d in found} == {"leaky"}
    assert {(d.index, d.gap) for d in found} == {(2, 0.25)}
    assert plain.asked[0] == [1, 2, 1, 2]  # the prompt p0 and plain's first two tokens


def test_an_answer_that_ends_early_is_a_divergence() -> None:
    plain = Scripted([1, 2, 3])
    found = find_divergences(run({"plain": plain, "short": Scripted([1, 2])}), PROMPTS, plain, "float32")
    assert {(d.index, d.gap) for d in found} == {(2, None)}
    assert plain.asked == []


@pytest.mark.parametrize(
    ("dtype", "gap", "noise"),
    [("float32", 9e-4, True), ("float32", 2e-3, False), ("bfloat16", 0.2, True), ("bfloat16", 0.3, False)],
)
def test_a_near_tie_is_noise_as_far_as_the_dtype_rounds(dtype: str, gap: float, noise: bool) -> None:
    plain = Scripted([1, 2, 3], gap=gap)
    found = find_divergences(run({"plain": plain, "other": Scripted([1, 9, 3])}), PROMPTS, plain, dtype)
    assert {d.noise for d in found} == {noise}
