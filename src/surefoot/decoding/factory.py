"""The fastest exact decoder for where a pair lives: CUDA graphs on a GPU, the plain loop elsewhere."""

from __future__ import annotations

from surefoot.decoding.decoder import Decoder
from surefoot.decoding.pair import Pair
from surefoot.decoding.strategy import Strategy


def new_decoder(pair: Pair, strategy: Strategy, *, capacity: int) -> Decoder:
    """A decoder for requests of up to `capacity` tokens, prompt and answer together. Raises `UsageError`."""
    if pair.device != "cuda":
        return Decoder(pair, strategy, capacity=capacity)
    from surefoot.decoding.graph_decoder import GraphDecoder  # needs triton, which only CUDA builds of torch bring

    return GraphDecoder(pair, strategy, capacity=capacity)
