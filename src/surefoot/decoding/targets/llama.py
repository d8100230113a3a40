"""Llama-family target: pre-norm blocks of grouped-query attention with RoPE, and SwiGLU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from surefoot.decoding.attention import attend, stacked_mask
from surefoot.decoding.kv_cache import KeyValueRows, KVCache, LayerRows, SlottedRows
from surefoot.decoding.linear import Linear, compile_shared, frozen
from surefoot.decoding.model_folder import number, whole
from surefoot.decoding.rope import rope_table, rotate
from surefoot.decoding.targets.base import TargetOutput
from surefoot.decoding.weights import Weights
from surefoot.errors import InputError


class Llama:
    """A `model_type: llama` checkpoint, names as published by Hugging Face."""

    def __init__(self, config: Mapping[str, object], weights: Weights) -> None:
        if config.get("rope_scaling") or config.get("attention_bias") or config.get("mlp_bias"):
            raise InputError("this Llama checkpoint uses rope scaling or biases, which are not supported")
        self.hidden_size = whole(config, "hidden_size")
        self.vocab_size = whole(config, "vocab_size")
        self.num_layers = whole(config, "num_hidden_layers")
        self.context_length = whole(config, "max_position_embeddings")
        heads = whole(config, "num_attention_heads")
        self.kv_heads = whole(config, "num_key_value_heads", heads)
        self.head_dim = whole(config, "head_dim", self.hidden_size // heads)
        self.heads = heads
        self.eps = number(config, "rms_norm_eps", 1e-6)

        self.embedding = weights.take("model.embed_tokens.weight", self.vocab_size, self.hidden_size)
        self.device, self.dtype = self.embedding.device, self.embedding.dtype
        tied = bool(config.get("tie_word_embeddings", False))
        head = self.embedding if tied else weights.take("lm_head.weight", self.vocab_size, self.hidden_size)
        self.head = Linear(head)
        self.norm = weights.take("model.norm.weight", self.hidden_size)
        self.rope = rope_table(
            self.context_length, self.head_dim, number(config, "rope_theta", 10000.0), self.device, self.dtype
        )
        intermediate = whole(config, "intermediate_size")
        self._compiled: RunBlock | None = None
        self.layers = [_Block(self, weights, f"model.layers.{i}", intermediate) for i in range(self.num_layers)]

    def new_cache(self, capacity: int) -> KVCache:
        return KVCache(self.num_layers, self.kv_heads, self.head_dim, capacity, self.device, self.dtype)

    def forward(
        self,
        tokens: Tensor,
        positions: Tensor,
        cache: KeyValueRows,
        mask: Tensor | None,
        *,
        tap_layers: Sequence[int] = (),
        last_only: bool = False,
    ) -> TargetOutput:
        x = F.embedding(tokens, self.embedding)
        rope = self.rope[positions]
        mask = stacked_mask(mask, self.heads, self.kv_heads)
        run = self._compiled if self._compiled and isinstance(cache, SlottedRows) else _run
        taps = []
        for i, block in enumerate(self.layers):
            x = run(block, x, rope, cache.layer(i), mask)
            if i in tap_layers:
                taps.append(x)
        if last_only:
            x = x[-1:]
        logits = self.head(F.rms_norm(x, (self.hidden_size,), self.norm, self.eps))
        return TargetOutput(logits, torch.cat(taps, -1) if taps else None)

    def embed(self, tokens: Tensor) -> Tensor:
        return F.embedding(tokens, self.embedding)

    def head_rows(self) -> Tensor:
        return self.head.weight

    def compile(self) -> None:
        self._compiled = self._compiled or compile_shared(_run)

    def pack(self, width: int) -> None:
        for linear in (self.head, *(linear for block in self.layers for linear in block.linears)):
            linear.pack(width)


class _Block(nn.Module):
    """One transformer block; q, k, v and gate, up are fused into one product each."""

    def __init__(self, model: Llama, weights: Weights, name: str, intermediate: int) -> None:
        hidden, kv = model.hidden_size, model.kv_heads * model.head_dim
        wide = model.heads * model.head_dim
        attn, mlp = f"{name}.self_attn", f"{name}.mlp"
        super().__init__()
        self.heads, self.kv_heads, self.head_dim, self.eps = model.heads, model.kv_heads, model.head_dim, model.eps
        self.input_norm = frozen(weights.take(f"{name}.input_layernorm.weight", hidden))
        self.post_norm = frozen(weights.take(f"{name}.post_attention_layernorm.weight", hidden))
        self.qkv = Linear(
            torch.cat(
                [
                    weights.take(f"{attn}.{which}_proj.weight", size, hidden)
                    for which, size in zip("qkv", (wide, kv, kv), strict=True)
                ]
            )
        )
        self.out = Linear(weights.take(f"{attn}.o_proj.weight", hidden, wide))
        self.gate_up = Linear(
            torch.cat([weights.take(f"{mlp}.{which}_proj.weight", intermediate, hidden) for which in ("gate", "up")])
        )
        self.down = Linear(weights.take(f"{mlp}.down_proj.weight", hidden, intermediate))

    @property
    def linears(self) -> tuple[Linear, ...]:
        return self.qkv, self.out, self.gate_up, self.down

    def forward(self, x: Tensor, rope: Tensor, cache: LayerRows, mask: Tensor | None) -> Tensor:
        rows = x.shape[0]
        h = F.rms_norm(x, self.input_norm.shape, self.input_norm, self.eps)
        heads = self.qkv(h).view(rows, -1, self.head_dim)
        q, k = rotate(heads[:, : -self.kv_heads], rope).split((self.heads, self.kv_heads), 1)
        keys, values = cache.write(k, heads[:, -self.kv_heads :])
        x = x + self.out(attend(q, keys, values, mask))
        gate, up = self.gate_up(F.rms_norm(x, self.post_norm.shape, self.post_norm, self.eps)).chunk(2, -1)
        out: Tensor = x + self.down(F.silu(gate) * up)
        return out


def _run(block: _Block, x: Tensor, rope: Tensor, cache: LayerRows, mask: Tensor | None) -> Tensor:
    """One block; compiled once, it serves all blocks, as their weights are inputs of the compiled code."""
    out: Tensor = block(x, rope, cache, mask)
    return out


RunBlock = Callable[[_Block, Tensor, Tensor, LayerRows, Tensor | None], Tensor]
