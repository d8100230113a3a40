"""What a GPU holds beside weights and cache: the driver's context, activations, graphs, masks, logits.

Activations follow from the shapes of one prefill chunk. What only a measurement could tell is marked assumed.
"""

from __future__ import annotations

from math import ceil

from surefoot.checkpoints.architecture import Architecture, Mixer
from surefoot.evidence import Method
from surefoot.preflight.memory.parts import MIB, Part
from surefoot.preflight.options import Options, Speculation

CONTEXT = 700 * MIB
"""CUDA context, libraries and loaded kernels of one rank."""
COMMUNICATION = 600 * MIB
"""NCCL and custom all-reduce buffers of one rank."""
WORKSPACE = 512 * MIB
"""The attention backend's own workspace; the constant SGLang reserves."""
SLACK = 0.02
"""Share of the GPU that the allocator loses to fragmentation."""
SCRATCH = 1.25
"""Temporary copies beside the tensors counted one by one."""


def context_part(options: Options) -> Part:
    """Memory gone before the first weight is loaded."""
    size = CONTEXT + (COMMUNICATION if options.gpus > 1 else 0)
    return Part("CUDA context and NCCL", size, "a usual size of the two", Method.ASSUMED)


def activation_part(model: Architecture, options: Options, chunk: int, taps: int) -> Part:
    """Activations of one prefill chunk of `chunk` tokens, 16 bits each, on one rank."""
    hidden = model.hidden_size or 0
    elements = hidden * (4 + taps) + max(_attention(model, options), _feed_forward(model, options))
    size = ceil(chunk * elements * 2 * SCRATCH)
    taken = f" + {taps} taps" if taps else ""
    how = f"{chunk} tokens x ({elements} elements: hidden{taken}, widest of attention and MLP) x 2 B x {SCRATCH}"
    return Part("prefill activations", size + WORKSPACE, how + " + workspace", Method.COMPUTED)


def _attention(model: Architecture, options: Options) -> int:
    widest = 0
    split = options.attention_parallel
    for layer in model.layers:
        if layer.mixer is Mixer.MLA and model.latent is not None and layer.heads:
            latent = model.latent
            query = latent.qk_nope_head_dim + latent.qk_rope_head_dim
            widest = max(widest, ceil(layer.heads / split) * (2 * query + 2 * latent.v_head_dim))
        elif layer.heads and layer.head_dim:
            keys = max(1, (layer.kv_heads or layer.heads) // split)
            widest = max(widest, (2 * ceil(layer.heads / split) + 2 * keys) * layer.head_dim)
        elif model.recurrence is not None and layer.mixer in (Mixer.GDN, Mixer.MAMBA2, Mixer.KDA):
            shape = model.recurrence
            states = shape.state_elements // 64
            widest = max(widest, ceil((3 * shape.conv_channels + 2 * states) / split))
    return widest


def _feed_forward(model: Architecture, options: Options) -> int:
    split = options.tensor_parallel
    dense = 3 * ceil((model.intermediate_size or 0) / split)
    moe = model.moe
    if moe is None or moe.expert_size is None or moe.top_k is None:
        return dense
    routed = moe.top_k * (3 * ceil(moe.expert_size / split) + (model.hidden_size or 0))
    return max(dense, routed + 3 * ceil((moe.shared_size or 0) / split))


def verification_parts(
    model: Architecture, speculation: Speculation, graph_batch: int, context: int, full_mask: bool
) -> tuple[Part, ...]:
    """Logits of a verification at the largest captured batch, and the mask buffer where the backend keeps one."""
    width = speculation.width
    rows = graph_batch * width
    vocabulary = model.vocab_size or 0
    logits = Part(
        "verification logits" if width > 1 else "logits",
        rows * vocabulary * 6,
        f"{graph_batch} requests x {width} positions x {vocabulary} x (4 + 2) B",
    )
    if not full_mask or width == 1:
        return (logits,)
    how = f"{graph_batch} requests x {width} positions x {context} tokens x 1 B, kept for the CUDA graphs"
    return (logits, Part("tree mask", rows * context, how))


def slack_part(gpu_bytes: int) -> Part:
    """Reserve for fragmentation."""
    return Part("fragmentation reserve", int(gpu_bytes * SLACK), f"{SLACK:.0%} of the GPU", Method.ASSUMED)
