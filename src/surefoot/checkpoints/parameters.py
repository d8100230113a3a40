"""How many parameters a config promises, added up layer by layer; None when some part is not known.

Counted is the text model: embeddings, layers, final norm, head. Vision and MTP layers are left out, so that
the sum can be held against the tensors of the same parts.
"""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.checkpoints.architecture import Architecture, Layer, Mixer, Mlp, Recurrence


@dataclass(frozen=True)
class Parameters:
    """Parameters of the text model, and of what one token meets of it."""

    total: int
    active: int


def promised(model: Architecture) -> Parameters | None:
    """Parameters by the config, None when a layer kind or a size is unknown."""
    hidden, vocab = model.hidden_size, model.vocab_size
    if hidden is None or vocab is None or not model.layers or model.tied_embeddings is None:
        return None
    total = active = vocab * hidden * (1 if model.tied_embeddings else 2) + hidden
    for layer in model.layers:
        mixer, mlp = _mixer(model, layer, hidden), _mlp(model, layer, hidden)
        if mixer is None or mlp is None:
            return None
        norms = hidden * ((layer.mixer is not Mixer.NONE) + (layer.mlp is not Mlp.NONE))
        total += mixer + mlp[0] + norms
        active += mixer + mlp[1] + norms
    return Parameters(total, active)


def _mixer(model: Architecture, layer: Layer, hidden: int) -> int | None:
    if layer.mixer is Mixer.NONE:
        return 0
    if layer.mixer in (Mixer.MHA, Mixer.GQA, Mixer.MQA):
        return None if layer.span == "compressed" else _grouped(model, layer, hidden)
    if layer.mixer is Mixer.MLA:
        return _latent(model, layer, hidden)
    shape = model.recurrence
    if shape is not None and layer.mixer is Mixer.GDN:
        return _delta(shape, hidden)
    if shape is not None and layer.mixer is Mixer.MAMBA2:
        return _mamba(shape, hidden)
    return None


def _grouped(model: Architecture, layer: Layer, hidden: int) -> int | None:
    heads, groups, size, value = layer.heads, layer.kv_heads, layer.head_dim, layer.value_dim
    if heads is None or groups is None or size is None or value is None:
        return None
    queries = heads * size * (2 if model.output_gate else 1)
    width = queries + groups * (size + value)
    return hidden * (width + heads * value) + (width if model.attention_bias else 0)


def _latent(model: Architecture, layer: Layer, hidden: int) -> int | None:
    latent, heads = model.latent, layer.heads
    if latent is None or heads is None:
        return None
    query_dim = heads * (latent.qk_nope_head_dim + latent.qk_rope_head_dim)
    rank = latent.q_lora_rank
    queries = hidden * query_dim if rank is None else hidden * rank + rank + rank * query_dim
    keys = hidden * (latent.kv_lora_rank + latent.qk_rope_head_dim) + latent.kv_lora_rank
    keys += latent.kv_lora_rank * heads * (latent.qk_nope_head_dim + latent.v_head_dim)
    total = queries + keys + heads * latent.v_head_dim * hidden
    if model.indexer is not None and rank is not None:
        index = model.indexer
        total += rank * index.heads * index.head_dim + hidden * (index.head_dim + index.heads)
        total += 2 * index.head_dim
    return total


def _delta(shape: Recurrence, hidden: int) -> int:
    """Gated DeltaNet: q, k, v, gate, two per-head inputs, convolution, decay, norm, output."""
    keys, values = shape.key_heads * shape.key_dim, shape.value_heads * shape.value_dim
    inputs = hidden * (2 * keys + 2 * values + 2 * shape.value_heads)
    convolution = shape.conv_channels * shape.conv_kernel
    return inputs + convolution + 2 * shape.value_heads + shape.value_dim + values * hidden


def _mamba(shape: Recurrence, hidden: int) -> int:
    """Mamba-2: joint input, convolution with bias, A, D and dt for each head, norm, output."""
    inner = shape.value_heads * shape.value_dim
    inputs = hidden * (inner + shape.conv_channels + shape.value_heads)
    convolution = shape.conv_channels * (shape.conv_kernel + 1)
    return inputs + convolution + 3 * shape.value_heads + inner + inner * hidden


def _mlp(model: Architecture, layer: Layer, hidden: int) -> tuple[int, int] | None:
    """Parameters of the MLP, and those that one token meets."""
    matrices = 3 if model.gated_mlp else 2
    dense = matrices * hidden * (layer.intermediate_size or model.intermediate_size or 0)
    if layer.mlp is Mlp.NONE:
        return 0, 0
    if layer.mlp is Mlp.DENSE:
        return (dense, dense) if dense else None
    moe = model.moe
    if layer.mlp is Mlp.UNKNOWN or moe is None or moe.expert_size is None or moe.top_k is None:
        return None
    if moe.shared and moe.shared_size is None:
        return None
    width = moe.latent_size or hidden
    expert = matrices * width * moe.expert_size
    always = hidden * moe.experts + matrices * hidden * (moe.shared_size or 0)
    always += 2 * hidden * moe.latent_size if moe.latent_size else 0
    if model.family == "gpt_oss":
        expert += 2 * moe.expert_size + hidden
        always += moe.experts
    if layer.mlp is Mlp.BOTH:
        always += dense
    return always + moe.experts * expert, always + moe.top_k * expert
