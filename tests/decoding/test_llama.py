"""Our Llama against transformers' own, loaded from the same GGUF by transformers' own reader."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from surefoot.decoding.decoder import Decoder
from surefoot.decoding.embedded import find_gguf
from surefoot.decoding.pair import Pair
from surefoot.decoding.rounds import Sampling
from surefoot.decoding.strategy import PLAIN
from surefoot.decoding.verification import causal_mask


@pytest.fixture(scope="module")
def reference() -> Any:
    from transformers import AutoModelForCausalLM

    gguf = find_gguf()
    return AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32).eval()


@torch.inference_mode()
def test_logits_of_a_long_prompt_and_greedy_text(pair: Pair, reference: Any) -> None:
    text = "def add(a, b):\n    return a + b\n\n# The year 1987 was followed by many others.\n" * 30
    ids = pair.tokenizer.encode(text)
    assert len(ids) > 600
    cache = pair.target.new_cache(len(ids))
    tokens = torch.tensor(ids)
    mask = causal_mask(len(ids), 0, pair.target.device, pair.target.dtype)
    ours = pair.target.forward(tokens, torch.arange(len(ids)), cache, mask, tap_layers=(0, 29))
    theirs = reference(tokens[None], output_hidden_states=True)
    assert (ours.logits - theirs.logits[0]).abs().max() < 1e-3
    # a tap is the output of a layer: hidden_states[l + 1]; the last entry there is already normed
    assert ours.taps is not None
    assert torch.allclose(ours.taps[:, :576], theirs.hidden_states[1][0], atol=1e-3)

    prompt = pair.tokenizer.encode_chat("Write a haiku about rain.")
    expected = reference.generate(torch.tensor([prompt]), max_new_tokens=40, do_sample=False)[0, len(prompt) :]
    decoder = Decoder(pair, PLAIN, capacity=256)
    got = [t for r in decoder.generate(prompt, Sampling(40, stop=pair.stop)) for t in r.tokens]
    assert got == expected.tolist()[: len(got)]
    assert len(got) > 10
