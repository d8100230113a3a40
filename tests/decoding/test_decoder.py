"""Every strategy and budget commits exactly what plain decoding does, and keeps exactly the right caches."""

from __future__ import annotations

import pytest
import torch

from surefoot.decoding.decoder import Decoder
from surefoot.decoding.pair import Pair
from surefoot.decoding.rounds import Round, Sampling
from surefoot.decoding.strategy import PLAIN, ddtree, parse_strategy
from surefoot.decoding.tree import chain
from surefoot.decoding.verification import causal_mask, walk
from surefoot.errors import UsageError

TOKENS = 12
CAPACITY = 160


def run(decoder: Decoder, prompt: list[int], sampling: Sampling) -> list[Round]:
    return list(decoder.generate(prompt, sampling))


def tokens_of(rounds: list[Round]) -> list[int]:
    return [token for done in rounds for token in done.tokens]


@pytest.fixture(scope="module")
def plain(pair: Pair, prompts: list[list[int]]) -> list[list[int]]:
    decoder = Decoder(pair, PLAIN, capacity=CAPACITY)
    return [tokens_of(run(decoder, prompt, Sampling(TOKENS, stop=pair.stop))) for prompt in prompts]


@pytest.mark.parametrize("name", ["dflash", *(f"ddtree:{budget}" for budget in (1, 4, 15, 16, 32, 64, 128))])
def test_greedy_outputs_equal_plain(pair: Pair, prompts: list[list[int]], plain: list[list[int]], name: str) -> None:
    decoder = Decoder(pair, parse_strategy(name), capacity=CAPACITY)
    accepted = 0
    for prompt, expected in zip(prompts, plain, strict=True):
        rounds = run(decoder, prompt, Sampling(TOKENS, stop=pair.stop))
        assert tokens_of(rounds) == expected
        accepted += sum(done.accepted for done in rounds)
    assert accepted > len(prompts), "the drafter must have been of use, or this test shows nothing"


@torch.inference_mode()
def test_every_nodes_logits_equal_its_ancestor_chains_and_the_cache_a_fresh_prefill(
    pair: Pair, prompts: list[list[int]]
) -> None:
    prompt, target = prompts[0], pair.target
    decoder = Decoder(pair, ddtree(32), capacity=CAPACITY)
    anchor = int(decoder._prefill(prompt)[-1].argmax())
    tree, drafted = decoder._tree(decoder._draft(anchor))
    assert len(set(tree.depths)) > 2
    seen: dict[int, torch.Tensor] = {}
    real = target.forward

    def spy(*args: object, **kwargs: object) -> object:
        out = real(*args, **kwargs)  # type: ignore[arg-type]
        seen.update(enumerate(out.logits))
        return out

    target.forward = spy  # type: ignore[assignment, method-assign]
    try:
        walked, taps = decoder._verify(anchor, tree, drafted, _greedy(), 1)
    finally:
        del target.forward
    for node in range(len(tree)):
        line, at = [], node
        while at >= 0:
            line.append(drafted[at])
            at = tree.parents[at]
        alone = _logits(pair, [*prompt, anchor, *reversed(line)])
        assert (seen[node + 1] - alone).abs().max() < 1e-3

    decoder._commit(walked, taps)
    committed = [*prompt, anchor, *walked.tokens[:-1]]
    fresh = Decoder(pair, ddtree(32), capacity=CAPACITY)
    fresh._prefill(committed)
    assert decoder.cache.length == fresh.cache.length == len(committed)
    length = len(committed)
    assert torch.allclose(decoder.cache.rows[..., :length, :], fresh.cache.rows[..., :length, :], atol=1e-3)
    assert torch.allclose(decoder.context.rows[..., :length, :], fresh.context.rows[..., :length, :], atol=2e-3)


def _greedy() -> object:
    from surefoot.decoding.sampling import Sampler

    return Sampler(Sampling())


@torch.inference_mode()
def _logits(pair: Pair, ids: list[int]) -> torch.Tensor:
    cache = pair.target.new_cache(len(ids))
    mask = causal_mask(len(ids), 0, pair.target.device, pair.target.dtype)
    tokens, positions = torch.tensor(ids), torch.arange(len(ids))
    return pair.target.forward(tokens, positions, cache, mask, last_only=True).logits[0]


@torch.inference_mode()
def test_a_tree_accepts_at_least_what_its_own_chain_does(pair: Pair, prompts: list[list[int]]) -> None:
    """In every round: a tree that holds the drafter's whole chain goes at least as deep as the chain."""
    checked = 0
    for prompt in prompts[:4]:
        decoder = Decoder(pair, ddtree(64), capacity=CAPACITY)
        reference = tokens_of(run(Decoder(pair, PLAIN, capacity=CAPACITY), prompt, Sampling(40)))
        decoder._prefill(prompt)
        done = 1
        while done < 24:
            anchor = reference[done - 1]
            candidates = decoder._draft(anchor)
            assert candidates is not None
            spine = walk(
                chain(candidates[0]),
                candidates[1][:, 0].tolist(),
                lambda row, depth, at=done, line=reference: line[at + depth],
            )
            tree, drafted = decoder._tree(candidates)
            walked, taps = decoder._verify(anchor, tree, drafted, _greedy(), done)
            spine_in_tree = sum(rank == 0 for rank in _spine_ranks(tree))
            assert len(walked.tokens) >= min(len(spine.tokens), spine_in_tree + 1)
            decoder._commit(walked, taps)
            done += len(walked.tokens)
            checked += 1
    assert checked > 10


def _spine_ranks(tree: object) -> list[int]:
    parents, ranks = tree.parents, tree.ranks  # type: ignore[attr-defined]
    spine, at = [], -1
    for node, (parent, rank) in enumerate(zip(parents, ranks, strict=True)):
        if parent == at and rank == 0:
            spine.append(rank)
            at = node
    return spine


def test_a_seed_gives_the_same_sampled_answer_under_every_strategy(pair: Pair, prompts: list[list[int]]) -> None:
    sampling = Sampling(16, temperature=0.8, seed=5, stop=pair.stop)
    answers = [
        tokens_of(run(Decoder(pair, parse_strategy(name), capacity=CAPACITY), prompts[3], sampling))
        for name in ("plain", "dflash", "ddtree:16")
    ]
    assert answers[0] == answers[1] == answers[2]
    other = Sampling(16, temperature=0.8, seed=6, stop=pair.stop)
    assert tokens_of(run(Decoder(pair, PLAIN, capacity=CAPACITY), prompts[3], other)) != answers[0]


def test_stop_tokens_and_max_tokens_end_an_answer(pair: Pair, prompts: list[list[int]], plain: list[list[int]]) -> None:
    decoder = Decoder(pair, ddtree(16), capacity=CAPACITY)
    for limit in (1, 2, 5):
        assert tokens_of(run(decoder, prompts[0], Sampling(limit))) == plain[0][:limit]
    stop = plain[0][4]
    first = plain[0].index(stop)
    assert tokens_of(run(decoder, prompts[0], Sampling(TOKENS, stop=(stop,)))) == plain[0][: first + 1]


def test_a_prompt_that_does_not_fit_is_wrong_use(pair: Pair) -> None:
    with pytest.raises(UsageError, match="context of 8192"):
        Decoder(pair, PLAIN, capacity=8193)
    decoder = Decoder(pair, PLAIN, capacity=32)
    with pytest.raises(UsageError, match="a prompt of 30 tokens and 8 new ones are more than 32"):
        next(decoder.generate([1] * 30, Sampling(8)))
    with pytest.raises(UsageError, match="prompt is empty"):
        next(decoder.generate([], Sampling(8)))


def test_top_gap_is_the_difference_of_the_two_best_logits(pair: Pair, prompts: list[list[int]]) -> None:
    logits = _logits(pair, prompts[0]).sort(descending=True).values
    gap = Decoder(pair, PLAIN, capacity=CAPACITY).top_gap(prompts[0])
    assert gap == pytest.approx(float(logits[0] - logits[1]), abs=1e-3)
