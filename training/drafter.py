"""The DFlash drafter: a few block-parallel layers that read the target's hidden rows as extra keys and values."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from target import HEAD_DIM, HEADS, HIDDEN, KV_HEADS, LAYERS, THETA, VOCAB, rope_tables
from torch import Tensor, nn

MASK_ID = 16  # <empty_output>, never written by the target in chat
EPS = 1e-6
Attention = Callable[[Tensor, Tensor, Tensor, Any], Tensor]


def linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=inputs**-0.5)
    return layer


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Half-split RoPE, as Qwen3: x [B, n, heads, 64], tables [B, n, 1, 32]."""
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


class Attn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj = linear(HIDDEN, HEADS * HEAD_DIM)
        self.k_proj = linear(HIDDEN, KV_HEADS * HEAD_DIM)
        self.v_proj = linear(HIDDEN, KV_HEADS * HEAD_DIM)
        self.o_proj = linear(HEADS * HEAD_DIM, HIDDEN)
        self.q_norm = nn.RMSNorm(HEAD_DIM, eps=EPS)
        self.k_norm = nn.RMSNorm(HEAD_DIM, eps=EPS)

    def forward(
        self, x: Tensor, context: Tensor, rope: tuple[Tensor, Tensor], mask: Any, attention: Attention
    ) -> Tensor:
        """rope covers context then block; queries are the block's rows only."""
        cos, sin = rope
        both, n = torch.cat([context.to(x.dtype), x], 1), context.shape[1]
        q = self.q_norm(self.q_proj(x).unflatten(-1, (HEADS, HEAD_DIM)))
        k = self.k_norm(self.k_proj(both).unflatten(-1, (KV_HEADS, HEAD_DIM)))
        v = self.v_proj(both).unflatten(-1, (KV_HEADS, HEAD_DIM))
        q, k = rotate(q, cos[:, n:], sin[:, n:]).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        mixed = attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = linear(HIDDEN, width), linear(HIDDEN, width)
        self.down_proj = linear(width, HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(HIDDEN, eps=EPS)
        self.post_attention_layernorm = nn.RMSNorm(HIDDEN, eps=EPS)
        self.self_attn, self.mlp = Attn(), Mlp(width)

    def forward(
        self, x: Tensor, context: Tensor, rope: tuple[Tensor, Tensor], mask: Any, attention: Attention
    ) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), context, rope, mask, attention)
        return x + self.mlp(self.post_attention_layernorm(x))


class Drafter(nn.Module):
    """`feature_scale` whitens the taps while training; saving folds it into `fc`."""

    feature_scale: Tensor
    cos: Tensor
    sin: Tensor

    def __init__(self, layers: int, width: int, block: int, taps: Sequence[int]) -> None:
        super().__init__()
        self.block, self.taps, self.width = block, list(taps), width
        self.fc = linear(len(taps) * HIDDEN, HIDDEN)
        self.hidden_norm, self.norm = nn.RMSNorm(HIDDEN, eps=EPS), nn.RMSNorm(HIDDEN, eps=EPS)
        self.layers = nn.ModuleList([Layer(width) for _ in range(layers)])
        for layer in self.layers:  # residual branches start small
            layer.self_attn.o_proj.weight.data.mul_(0.2)  # type: ignore[union-attr]
            layer.mlp.down_proj.weight.data.mul_(0.2)  # type: ignore[union-attr]
        self.register_buffer("feature_scale", torch.ones(len(taps) * HIDDEN), persistent=False)
        cos, sin = rope_tables(4096, torch.device("cpu"))
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(
        self,
        features: Tensor,
        context_positions: Tensor,
        block: Tensor,
        block_positions: Tensor,
        mask: Any,
        attention: Attention,
    ) -> Tensor:
        """features [B, T, taps*576], block embeddings [B, Q, 576] -> normed rows [B, Q, 576]."""
        context = self.hidden_norm(self.fc(features * self.feature_scale.to(features.dtype)))
        positions = torch.cat([context_positions, block_positions], 1)
        rope = self.cos[positions][:, :, None], self.sin[positions][:, :, None]
        x = block
        for layer in self.layers:
            x = layer(x, context, rope, mask, attention)
        return self.norm(x)


def block_inputs(ids: Tensor, anchors: Tensor, block: int) -> Tensor:
    """[anchor, MASK, MASK, ...] for each anchor: [B, A * block]."""
    rows = torch.full((*anchors.shape, block), MASK_ID, device=ids.device, dtype=ids.dtype)
    rows[:, :, 0] = torch.gather(ids, 1, anchors)
    return rows.flatten(1)


def state(drafter: Drafter) -> dict[str, Tensor]:
    tensors = {k: v.detach().float().cpu().clone() for k, v in drafter.state_dict().items()}
    tensors["fc.weight"] *= drafter.feature_scale.float().cpu()[None]
    return {k: v.to(torch.bfloat16).contiguous() for k, v in tensors.items()}


def config(drafter: Drafter) -> dict[str, Any]:
    return {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "hidden_size": HIDDEN,
        "intermediate_size": drafter.width,
        "num_hidden_layers": len(drafter.layers),
        "num_target_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "vocab_size": VOCAB,
        "rms_norm_eps": EPS,
        "rope_theta": THETA,
        "max_position_embeddings": 8192,
        "block_size": drafter.block,
        "dflash_config": {"mask_token_id": MASK_ID, "target_layer_ids": drafter.taps},
        "layer_types": ["full_attention"] * len(drafter.layers),
        "tie_word_embeddings": True,
        "hidden_act": "silu",
        "attention_bias": False,
        "dtype": "bfloat16",
    }


def save(drafter: Drafter, folder: Path, parts: int = 1) -> None:
    """z-lab layout. With parts > 1 the weights are split over files; `join` puts them together."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors = state(drafter)
    names = sorted(tensors)
    for part in range(parts):
        name = "model.safetensors" if parts == 1 else f"part-{part}.safetensors"
        save_file({n: tensors[n] for n in names[part::parts]}, str(folder / name), {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config(drafter), indent=2) + "\n")


def join(folder: Path, into: Path) -> None:
    """One model.safetensors out of the parts that `save` wrote."""
    from safetensors.torch import load_file, save_file

    tensors: dict[str, Tensor] = {}
    for part in sorted(folder.glob("part-*.safetensors")):
        tensors |= load_file(str(part))
    into.mkdir(parents=True, exist_ok=True)
    save_file(tensors, str(into / "model.safetensors"), {"format": "pt"})
    (into / "config.json").write_bytes((folder / "config.json").read_bytes())


def load(folder: Path) -> Drafter:
    from safetensors.torch import load_file

    c = json.loads((folder / "config.json").read_text())
    taps = c["dflash_config"]["target_layer_ids"]
    drafter = Drafter(c["num_hidden_layers"], c["intermediate_size"], c["block_size"], taps)
    tensors: dict[str, Tensor] = {}
    for part in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(str(part))
    drafter.load_state_dict({k: v.float() for k, v in tensors.items()})
    return drafter
