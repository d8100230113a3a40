from __future__ import annotations

from surefoot.benchmarks.answers import Answer, Divergence
from surefoot.benchmarks.comparison import Comparison, Sameness
from surefoot.benchmarks.comparison import compare as compare_all
from tests.benchmarks.scripted import answer


def group(strategy: str, seconds: float, accepted: int = 0) -> list[Answer]:
    """Six prompts of five rounds, each committing `accepted` + 1 tokens; the wall time is `seconds`."""
    return [answer(strategy, f"p{i}", seconds=seconds, accepted=[accepted] * 5) for i in range(6)]


def compare(answers: list[Answer], divergences: list[Divergence], *, greedy: bool = True) -> Comparison:
    """Compare the strategies that `answers` are of."""
    return compare_all(answers, divergences, list(dict.fromkeys(a.strategy for a in answers)), greedy=greedy)


def test_the_fastest_lossless_strategy_wins_and_the_sentence_says_why() -> None:
    found = compare([*group("plain", 1.0), *group("dflash", 0.8, 1), *group("ddtree:4", 0.5, 2)], [], greedy=True)
    assert found.winner == "ddtree:4"
    assert found.sentence == (
        "ddtree:4 wins at 2.00x plain (95% 2.00-2.00), ahead of dflash at 1.25x: "
        "a round commits 3.00 tokens and costs 0.50 plain steps."
    )
    assert [row.tokens_per_s for row in found.figures] == [10.0, 12.5, 20.0]
    assert all(row.sameness is Sameness.IDENTICAL for row in found.figures)


def test_plain_wins_when_it_does() -> None:
    found = compare([*group("plain", 1.0), *group("ddtree:4", 2.0, 1)], [], greedy=True)
    assert found.winner == "plain"
    assert found.sentence == (
        "plain wins: the best of the others, ddtree:4, runs at 0.50x plain (95% 0.50-0.50), "
        "as a round commits 2.00 tokens and costs 2.00 plain steps."
    )


def test_a_strategy_with_other_outputs_cannot_win() -> None:
    answers = [*group("plain", 1.0), *group("dflash", 0.8, 1), *group("ddtree:4", 0.1, 9)]
    found = compare(answers, [Divergence("p1", "ddtree:4", 3, 0.5, noise=False)], greedy=True)
    assert found.winner == "dflash"
    assert "outputs differ from plain: ddtree:4" in found.sentence
    assert found.figures[2].sameness is Sameness.DIFFERENT


def test_a_near_tie_is_noise() -> None:
    found = compare(
        [*group("plain", 1.0), *group("dflash", 0.5, 1)], [Divergence("p1", "dflash", 3, 1e-5, noise=True)], greedy=True
    )
    assert found.figures[1].sameness is Sameness.NOISE
    assert found.winner == "dflash"


def test_no_winner_when_the_interval_holds_1() -> None:
    mixed = [answer("dflash", f"p{i}", seconds=s, accepted=[1]) for i, s in enumerate((0.4, 0.5, 1.6, 0.9, 0.7, 1.7))]
    found = compare([*group("plain", 1.0), *mixed], [], greedy=True)
    assert found.winner is None
    assert found.sentence.startswith("No winner: dflash measured")
    assert "which does not exclude 1" in found.sentence


def test_too_few_prompts_name_no_winner_however_fast() -> None:
    four = [*group("plain", 1.0)[:4], *group("dflash", 0.1, 1)[:4]]
    found = compare(four, [])
    assert found.winner is None
    assert found.sentence.startswith("No winner: dflash measured 10.00x plain on 4 prompts, which is too few")
    one = compare([four[0], four[4]], [])
    assert "on 1 prompt," in one.sentence


def test_without_plain_no_speed_up_is_claimed() -> None:
    found = compare([*group("dflash", 1.0, 1), *group("ddtree:4", 0.5, 2)], [], greedy=True)
    assert found.winner == "ddtree:4"
    assert "no speed-up can be claimed" in found.sentence
    assert found.figures[0].speedup is None
    assert found.figures[0].sameness is Sameness.NOT_COMPARED


def test_sampled_outputs_are_not_compared() -> None:
    found = compare([*group("plain", 1.0), *group("dflash", 0.5, 1)], [], greedy=False)
    assert {row.sameness for row in found.figures} == {Sameness.NOT_COMPARED}
    assert found.sentence.endswith("Outputs are not compared, as they are sampled.")


def test_only_prompts_that_all_have_answered_count() -> None:
    answers = [*group("plain", 1.0), answer("dflash", "p0", seconds=0.5, accepted=[1])]
    found = compare(answers, [], greedy=True)
    assert [row.answers for row in found.figures] == [1, 1]


def test_a_strategy_that_was_not_reached_leaves_nothing_to_compare() -> None:
    answers = [answer("plain"), answer("dflash", seconds=0.1, accepted=[1])]
    found = compare_all(answers, [], ["plain", "dflash", "ddtree:4"], greedy=True)
    assert found.figures == ()
    assert found.winner is None


def test_an_output_that_merely_ends_is_never_noise() -> None:
    answers = [*group("plain", 1.0), *group("dflash", 0.5, 1)]
    found = compare(answers, [Divergence("p1", "dflash", 3, None, noise=False)])
    assert found.figures[1].sameness is Sameness.DIFFERENT
    assert found.winner == "plain"


def test_looping_answers_are_counted_and_left_out_of_the_second_tau() -> None:
    # 12 tokens of period 2 hold 9 4-grams, 2 of them distinct
    loop = answer("dflash", "p0", tokens=[1, 2] * 6, accepted=[5, 5])
    row = compare([loop, answer("dflash", "p1", accepted=[1, 0])], []).figures[0]
    assert (row.looping, row.tau, row.tau_without_loops) == (1, 3.75, 1.5)
    assert row.distinct_4grams == (2 / 9 + 1) / 2


def test_nothing_measured_is_said() -> None:
    found = compare([], [])
    assert found.winner is None
    assert "Nothing was measured" in found.sentence
