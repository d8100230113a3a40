"""At temperature 1, every strategy's answers have the law that exact enumeration gives (chi-square)."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import pytest
import torch

from surefoot.decoding.decoder import Decoder
from surefoot.decoding.drafter import DFlashDrafter
from surefoot.decoding.pair import Pair
from surefoot.decoding.rounds import Sampling
from surefoot.decoding.strategy import parse_strategy
from surefoot.decoding.targets.llama import Llama
from surefoot.decoding.verification import causal_mask
from surefoot.decoding.weights import Weights

VOCAB, HIDDEN, LAYERS, TOKENS, DRAWS = 4, 16, 2, 3, 1500
PROMPT = [1, 2]


def tiny_pair(pair: Pair) -> Pair:
    generator = torch.Generator().manual_seed(3)
    config = {
        "hidden_size": HIDDEN, "intermediate_size": 24, "num_attention_heads": 2, "num_key_value_heads": 1,
        "num_hidden_layers": LAYERS, "vocab_size": VOCAB, "max_position_embeddings": 64, "tie_word_embeddings": True,
        "num_target_layers": LAYERS, "block_size": 4, "dflash_config": {"mask_token_id": 0, "target_layer_ids": [0, 1]},
    }  # fmt: skip
    target = Llama(config, RandomWeights(generator))
    drafter = DFlashDrafter(config, RandomWeights(generator), target, None)
    return replace(pair, target=target, drafter=drafter, stop=())


class RandomWeights(Weights):
    def __init__(self, generator: torch.Generator) -> None:
        super().__init__({}, "random")
        self.generator = generator

    def take(self, name: str, *shape: int) -> torch.Tensor:
        value = torch.randn(*shape, generator=self.generator) * (0.3 if len(shape) > 1 else 0.1)
        return value if len(shape) > 1 else 1 + value


@torch.inference_mode()
def exact_law(pair: Pair) -> dict[tuple[int, ...], float]:
    law = {}
    for answer in itertools.product(range(VOCAB), repeat=TOKENS):
        ids = [*PROMPT, *answer]
        cache = pair.target.new_cache(len(ids))
        mask = causal_mask(len(ids), 0, pair.target.device, pair.target.dtype)
        logits = pair.target.forward(torch.tensor(ids), torch.arange(len(ids)), cache, mask).logits
        probs = torch.softmax(logits.double(), -1)
        law[answer] = float(torch.stack([probs[len(PROMPT) - 1 + i, t] for i, t in enumerate(answer)]).prod())
    return law


def chi_square(counts: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> tuple[float, int]:
    """The statistic and its degrees of freedom; answers expected fewer than 5 times share one cell."""
    cells = [(counts[answer], DRAWS * p) for answer, p in law.items() if DRAWS * p >= 5]
    rare = [(counts[answer], DRAWS * p) for answer, p in law.items() if DRAWS * p < 5]
    if rare:
        cells.append((sum(count for count, _ in rare), sum(expected for _, expected in rare)))
    return sum((count - expected) ** 2 / expected for count, expected in cells), len(cells) - 1


def critical_value(freedom: int) -> float:
    """The chi-square quantile at 1 - 1e-5 (z = 4.265), by Wilson and Hilferty's cube."""
    spread = 2 / (9 * freedom)
    return freedom * float((1 - spread + 4.265 * spread**0.5) ** 3)


@pytest.mark.parametrize("name", ["plain", "dflash", "ddtree:1", "ddtree:6"])
def test_sampled_answers_follow_the_targets_law(pair: Pair, name: str) -> None:
    tiny = tiny_pair(pair)
    law = exact_law(tiny)
    assert sum(law.values()) == pytest.approx(1)
    decoder = Decoder(tiny, parse_strategy(name), capacity=16)
    counts: Counter[tuple[int, ...]] = Counter()
    accepted = 0
    for seed in range(DRAWS):
        rounds = list(decoder.generate(PROMPT, Sampling(TOKENS, temperature=1.0, seed=seed)))
        counts[tuple(t for r in rounds for t in r.tokens)] += 1
        accepted += sum(r.accepted for r in rounds)
    statistic, freedom = chi_square(counts, law)
    assert freedom > 20
    assert statistic < critical_value(freedom)
    assert max(law.values()) < 0.5, "a law this sharp would test nothing"
    assert name == "plain" or accepted > 100
