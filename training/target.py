"""The target: SmolLM2-135M-Instruct read from its GGUF file, in plain PyTorch, with taps for the drafter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM, VOCAB = 30, 576, 9, 3, 64, 49152
EPS, THETA, MAX_POSITIONS = 1e-5, 100_000.0, 8192
Attend = Callable[[Tensor, Tensor, Tensor, Any], Tensor]


def read_gguf(path: Path) -> tuple[dict[str, Tensor], list[str], list[str]]:
    """Dequantised weights, token strings and BPE merges of a GGUF file."""
    from gguf import GGUFReader
    from gguf.quants import dequantize

    reader = GGUFReader(str(path))
    weights = {
        t.name: torch.from_numpy(dequantize(t.data, t.tensor_type).copy()).float() for t in reader.tensors
    }
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    return weights, tokens, reader.fields["tokenizer.ggml.merges"].contents()


def build_tokenizer(tokens: Sequence[str], merges: Sequence[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    pairs = [tuple(m.split(" ")) for m in merges]
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(tokens[:17]))
    return tokenizer


def rope_tables(count: int, device: torch.device) -> tuple[Tensor, Tensor]:
    inverse = 1.0 / THETA ** (torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM)
    angles = torch.arange(count, dtype=torch.float64)[:, None] * inverse
    return angles.cos().float().to(device), angles.sin().float().to(device)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Interleaved RoPE (GGUF row order): x [..., heads, 64], tables [..., 1, 32]."""
    even, odd = x[..., 0::2].float(), x[..., 1::2].float()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)


def before_attention(
    x: Tensor, norm: Tensor, qkv: Tensor, cos: Tensor, sin: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, each [..., heads, 64]."""
    rows = F.linear(F.rms_norm(x, (HIDDEN,), norm, EPS), qkv).unflatten(-1, (HEADS + 2 * KV_HEADS, HEAD_DIM))
    q, k, v = rows.split([HEADS, KV_HEADS, KV_HEADS], -2)
    return _rotate(q, cos, sin), _rotate(k, cos, sin), v


def after_attention(x: Tensor, mixed: Tensor, out: Tensor, norm: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
    x = x + F.linear(mixed, out)
    gate, up = F.linear(F.rms_norm(x, (HIDDEN,), norm, EPS), gate_up).chunk(2, -1)
    return x + F.linear(F.silu(gate) * up, down)


def causal(q: Tensor, k: Tensor, v: Tensor, _: Any) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


class Target:
    """Frozen weights and a forward over whole sequences; `generate.Engine` adds the cached step."""

    def __init__(self, weights: dict[str, Tensor], dtype: torch.dtype, device: torch.device) -> None:
        def get(layer: int, *names: str) -> Tensor:
            parts = [weights[f"blk.{layer}.{name}.weight"] for name in names]
            return torch.cat(parts).to(device, dtype)

        self.dtype, self.device = dtype, device
        self.layers = [
            {
                "norm": get(i, "attn_norm"),
                "qkv": get(i, "attn_q", "attn_k", "attn_v"),
                "out": get(i, "attn_output"),
                "norm2": get(i, "ffn_norm"),
                "gate_up": get(i, "ffn_gate", "ffn_up"),
                "down": get(i, "ffn_down"),
            }
            for i in range(LAYERS)
        ]
        self.embedding = weights["token_embd.weight"].to(device, dtype)
        self.norm = weights["output_norm.weight"].to(device, dtype)
        self.cos, self.sin = rope_tables(MAX_POSITIONS, device)
        self.before, self.after = before_attention, after_attention

    def compile(self) -> None:
        self.before = torch.compile(before_attention, dynamic=False)
        self.after = torch.compile(after_attention, dynamic=False)

    @torch.no_grad()
    def hidden(
        self,
        ids: Tensor,
        positions: Tensor,
        taps: Sequence[int] = (),
        mask: Any = None,
        attend: Attend = causal,
    ) -> tuple[Tensor, Tensor | None]:
        """Last hidden rows (before the output norm) and the concatenated outputs of the tapped blocks."""
        x, kept = self.embedding[ids], []
        cos, sin = self.cos[positions][..., None, :], self.sin[positions][..., None, :]
        for i, w in enumerate(self.layers):
            q, k, v = self.before(x, w["norm"], w["qkv"], cos, sin)
            mixed = attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask)
            mixed = mixed.transpose(1, 2).flatten(2)
            x = self.after(x, mixed, w["out"], w["norm2"], w["gate_up"], w["down"])
            if i in taps:
                kept.append(x)
            if taps and i == max(taps):
                break
        return x, torch.cat(kept, -1) if taps else None

    def logits(self, x: Tensor) -> Tensor:
        """float32 logits of hidden rows [n, 576]; rounding them to bfloat16 would make false ties."""
        rows = F.rms_norm(x, (HIDDEN,), self.norm, EPS)
        if self.device.type == "cuda" and self.dtype != torch.float32:
            return torch.mm(rows, self.embedding.t(), out_dtype=torch.float32)
        return F.linear(rows, self.embedding).float()


def load(path: Path, dtype: torch.dtype, device: torch.device) -> tuple[Target, Any]:
    weights, tokens, merges = read_gguf(path)
    return Target(weights, dtype, device), build_tokenizer(tokens, merges)
