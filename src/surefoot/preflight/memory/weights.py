"""Bytes of weights on one GPU: what tensor and pipeline parallelism split, and what every rank holds whole.

The split is that of SGLang's and vLLM's layers: column and row parallel projections, vocabulary-parallel
embedding and head, experts over all ranks; latent down-projections, routers, norms and towers on each rank.
"""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction
from math import ceil

from surefoot.checkpoints.architecture import Architecture
from surefoot.checkpoints.checkpoint import Checkpoint
from surefoot.checkpoints.components import Component, shares
from surefoot.checkpoints.dtypes import CONFIG_BYTES
from surefoot.checkpoints.snapshot import Snapshot
from surefoot.checkpoints.tensors import TensorGroup
from surefoot.evidence import Method
from surefoot.preflight.memory.parts import Part
from surefoot.preflight.options import Options

_REPLICATED = re.compile(
    r"norm|q_a_proj|kv_a_proj|fused_qkv_a|wq_a\b|wkv_a\b|wkv\b|indexer|\.gate\.weight|e_score_correction"
    r"|shared_expert_gate|router|(?:^|\.)fc\.|hidden_norm|\.bias$|expert_bias"
)
_KEY_VALUE = re.compile(r"(?:k_proj|v_proj|\bwk|\bwv|attn_k|attn_v)\b")
_EMBEDDED = (Component.EMBEDDINGS, Component.HEAD)
_WIDTHS = {"NVFP4": 4.5, "MXFP4": 4.25, "FP4": 4.5, "INT4": 4.5, "FP8": 8.0, "MXFP8": 8.25, "INT8": 8.0, "NF4": 4.5}
"""Bits of a stored parameter with its scales, by format; for configs without headers."""


def target_parts(checkpoint: Checkpoint, snapshot: Snapshot, options: Options) -> tuple[Part, ...]:
    """Weights of a target by component on the fullest rank; empty when nothing is known about their size."""
    if not snapshot.tensors:
        return _from_config(checkpoint, options)
    sums: dict[Component, Fraction] = defaultdict(Fraction)
    model = checkpoint.model
    factor = _conversion(checkpoint)
    for group in snapshot.tensors:
        for component, count in shares(group, len(model.layers)).items():
            if component is not Component.MTP:
                sums[component] += group.size * count * _share(group, component, model, options) * factor
    return tuple(
        Part(str(component), ceil(size), _how(component, options))
        for component, size in sorted(sums.items(), key=lambda entry: -entry[1])
        if size
    )


def absorbed_copies(checkpoint: Checkpoint, options: Options) -> Part | None:
    """What MLA layers keep beside `kv_b_proj`: its two halves, laid out for absorbed decoding."""
    model = checkpoint.model
    latent = model.latent
    heads = next((layer.heads for layer in model.layers if layer.heads), None)
    if latent is None or heads is None:
        return None
    layers = sum(1 for layer in model.layers if layer.mixer == "MLA")
    width = latent.qk_nope_head_dim + latent.v_head_dim
    size = layers * latent.kv_lora_rank * heads * width * 2
    how = "layers x kv rank x heads x (nope + value) x 2 B / attention ranks: w_kc and w_vc"
    return Part(
        "absorbed MLA copies", ceil(Fraction(size, options.attention_parallel * options.pipeline_parallel)), how
    )


def drafter_parts(drafter: Checkpoint, snapshot: Snapshot, options: Options) -> tuple[Part, ...]:
    """Weights of a drafter on one rank: its layers are split, its `fc` is whole on each."""
    known = Fraction(0)
    for group in snapshot.tensors:
        component = next(iter(shares(group, 0)))
        known += group.bytes * _share(group, component, drafter.model, options)
    stored = sum(group.bytes for group in snapshot.tensors)
    unseen = max(0, drafter.weights.file_bytes - stored) if drafter.weights.file_bytes else 0
    if not stored and not unseen:
        return _drafter_from_config(drafter, options)
    size = ceil(known + Fraction(unseen, options.tensor_parallel))
    method = Method.COMPUTED if stored and unseen < stored else Method.ASSUMED
    return (Part("drafter", size, "fc and norms on each rank, the rest split over tensor parallel ranks", method),)


def _share(group: TensorGroup, component: Component, model: Architecture, options: Options) -> Fraction:
    """The part of one tensor that the fullest rank holds."""
    stages = options.pipeline_parallel
    layers = len(model.layers)
    stage = Fraction(ceil(layers / stages), layers) if stages > 1 and layers and "{}" in group.name else Fraction(1)
    if component is Component.VISION or _REPLICATED.search(group.name):
        return stage
    if component in _EMBEDDED:
        whole = options.data_parallel > 1
        return Fraction(1) if whole else _padded(group, options.tensor_parallel)
    split = options.tensor_parallel
    if component in (Component.ATTENTION, Component.RECURRENT) or "attn" in group.name:
        split = options.attention_parallel
        if _KEY_VALUE.search(group.name):
            return stage * _key_value_share(model, split)
    return stage * Fraction(1, split)


def _key_value_share(model: Architecture, split: int) -> Fraction:
    heads = next((layer.kv_heads for layer in model.layers if layer.kv_heads), None)
    if heads is None or heads % split == 0:
        return Fraction(1, split)
    return Fraction(max(1, heads // split), heads)


def _padded(group: TensorGroup, split: int) -> Fraction:
    """Vocabulary-parallel layers pad the rows to a multiple of 64 for each rank."""
    rows = group.shape[0] if group.shape else 0
    if rows <= 0:
        return Fraction(1, split)
    padded = ceil(ceil(rows / 64) * 64 / split) * split
    return Fraction(padded, rows) / split


def _conversion(checkpoint: Checkpoint) -> Fraction:
    """Engines load float32 checkpoints as 16 bit types."""
    return Fraction(1, 2) if checkpoint.model.dtype == "float32" and not checkpoint.quantization.claims else Fraction(1)


def _from_config(checkpoint: Checkpoint, options: Options) -> tuple[Part, ...]:
    """Without headers: parameters by the config, times the width of the format it claims, split evenly."""
    if checkpoint.promised is None:
        return ()
    model = checkpoint.model
    width = CONFIG_BYTES.get(model.dtype or "bfloat16", 2.0) * 8
    plain = 16.0 if width > 16 else width
    embedded = 0
    if model.vocab_size and model.hidden_size:
        embedded = model.vocab_size * model.hidden_size * (1 if model.tied_embeddings else 2)
    formats = [name for claim in checkpoint.quantization.claims for name in claim.formats if name in _WIDTHS]
    body = min((_WIDTHS[form] for form in formats), default=plain)
    size = ((checkpoint.promised.total - embedded) * body + embedded * plain) / 8
    how = f"parameters by the config x {body:g} bits (embedding and head {plain:g}), split evenly: no header was read"
    return (Part("weights", ceil(size / options.gpus), how, Method.ASSUMED),)


def _drafter_from_config(drafter: Checkpoint, options: Options) -> tuple[Part, ...]:
    """Layers split, `fc` whole; embedding and head are the target's."""
    model = drafter.model
    if drafter.promised is None or model.hidden_size is None or model.vocab_size is None:
        return ()
    item = min(2, CONFIG_BYTES.get(model.dtype or "bfloat16", 2))
    layers = drafter.promised.total - model.vocab_size * model.hidden_size * (1 if model.tied_embeddings else 2)
    fc = len(drafter.drafter.taps) * (drafter.drafter.target_hidden_size or model.hidden_size) * model.hidden_size
    how = "parameters by the config without embedding and head, fc on each rank: no header was read"
    size = ceil(Fraction(layers * item, max(1, options.tensor_parallel))) + fc * item
    return (Part("drafter", size, how, Method.ASSUMED),)


def _how(component: Component, options: Options) -> str:
    if component is Component.VISION:
        return "whole on each rank"
    if component is Component.ATTENTION and options.attention_parallel > 1:
        return f"heads over {options.attention_parallel} ranks, latent down-projections on each"
    if component in (Component.NORMS, Component.ROUTER):
        return "on each rank"
    return f"split over {options.tensor_parallel} ranks" if options.tensor_parallel > 1 else "as stored"
