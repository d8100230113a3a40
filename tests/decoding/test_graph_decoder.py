"""The static-shape rounds against the plain loop: on a CPU without graphs, on a GPU with them."""

from __future__ import annotations

import pytest
import torch

from surefoot.decoding.decoder import Decoder
from surefoot.decoding.embedded import load_embedded
from surefoot.decoding.graph_decoder import GraphDecoder
from surefoot.decoding.pair import Pair
from surefoot.decoding.rounds import Sampling
from surefoot.decoding.strategy import PLAIN, parse_strategy


@pytest.mark.parametrize("name", ["plain", "dflash", "ddtree:1", "ddtree:16"])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_rounds_equal_the_plain_loops(pair: Pair, prompts: list[list[int]], name: str, temperature: float) -> None:
    sampling = Sampling(12, temperature=temperature, seed=4, stop=pair.stop)
    loop = Decoder(pair, parse_strategy(name), capacity=96)
    graph = GraphDecoder(pair, parse_strategy(name), capacity=96)
    for prompt in prompts[:2]:
        expected = [(r.tokens, r.accepted, r.drafted) for r in loop.generate(prompt, sampling)]
        assert [(r.tokens, r.accepted, r.drafted) for r in graph.generate(prompt, sampling)] == expected
        assert graph.cache.length == loop.cache.length


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["dflash", "ddtree:15", "ddtree:64"])
def test_graphs_equal_plain_on_the_gpu(prompts: list[list[int]], name: str) -> None:
    pair = load_embedded("cuda", "float32")
    plain, fast = Decoder(pair, PLAIN, capacity=256), GraphDecoder(pair, parse_strategy(name), capacity=256)
    for prompt in prompts:
        sampling = Sampling(64, stop=pair.stop)
        expected = [t for r in plain.generate(prompt, sampling) for t in r.tokens]
        assert [t for r in fast.generate(prompt, sampling) for t in r.tokens] == expected
