"""What one token, one request and one tree node cost in cache on one GPU.

Key-value heads are split over the attention ranks until each has one; the MLA latent is whole on every
rank; a sliding window costs as a full layer unless the engine pools it apart; recurrent layers keep state for each
request, and while a tree or chain is verified, for each of its nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from surefoot.checkpoints.architecture import RECURRENT, Architecture, Layer, Mixer, Span
from surefoot.checkpoints.dtypes import CONFIG_BYTES
from surefoot.preflight.options import Options

KV_BYTES = {"bf16": 2, "bfloat16": 2, "fp16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8": 1}
"""Bytes of a cache element by the engines' names; `auto` is that of the model's type."""

INDEX_BLOCK = 128
"""Elements of a sparse-attention key that share one 4-byte scale (SGLang's DSA pool)."""


@dataclass(frozen=True)
class CacheCost:
    """Bytes on one GPU. `full` and `sliding` are a token's bytes in layers of that span.

    `state` is the recurrent and convolution state of one request, also the price of one verified node.
    `unknown` says why the cost of a token could not be worked out.
    """

    full: int = 0
    sliding: int = 0
    window: int | None = None
    state: int = 0
    state_layers: int = 0
    unknown: str | None = None

    @property
    def token(self) -> int:
        """A token's bytes in all layers, when nothing is pooled apart."""
        return self.full + self.sliding


def element_bytes(model: Architecture, kv_cache_dtype: str) -> int:
    """Bytes of one cached element; 16 bits for models stored wider."""
    if kv_cache_dtype in KV_BYTES:
        return KV_BYTES[kv_cache_dtype]
    return min(2, CONFIG_BYTES.get(model.dtype or "bfloat16", 2)) or 2


def cache_cost(model: Architecture, options: Options, kv_cache_dtype: str | None = None) -> CacheCost:
    """The cache of a target or a drafter under these options."""
    item = element_bytes(model, kv_cache_dtype or options.kv_cache_dtype)
    full = sliding = 0
    window: int | None = None
    for layer in model.layers:
        if layer.mixer in RECURRENT or layer.mixer is Mixer.NONE:
            continue
        size = _token_bytes(model, layer, item, options.attention_parallel)
        if size is None or layer.span is Span.COMPRESSED:
            return CacheCost(unknown=f"the cache of a {layer.label} layer is not known")
        if layer.span is Span.FULL:
            full += size
        else:
            sliding += size
            window = max(window or 0, layer.window or 0) or None
    if not model.layers:
        return CacheCost(unknown="the layers are not known")
    state, count, reason = _state(model, options)
    stages = options.pipeline_parallel
    return CacheCost(
        full=_stage(full, stages),
        sliding=_stage(sliding, stages),
        window=window,
        state=_stage(state, stages),
        state_layers=count,
        unknown=reason,
    )


def _stage(size: int, stages: int) -> int:
    return ceil(size / stages)


def _token_bytes(model: Architecture, layer: Layer, item: int, split: int) -> int | None:
    if layer.mixer is Mixer.MLA:
        latent = model.latent
        if latent is None:
            return None
        size = (latent.kv_lora_rank + latent.qk_rope_head_dim) * item
        if model.indexer is not None:
            size += model.indexer.head_dim + model.indexer.head_dim // INDEX_BLOCK * 4
        return size
    if layer.kv_heads is None or layer.head_dim is None:
        return None
    heads = max(1, layer.kv_heads // split)
    return heads * (layer.head_dim + (layer.value_dim or layer.head_dim)) * item


def _state(model: Architecture, options: Options) -> tuple[int, int, str | None]:
    """State of one request in bytes on one rank, the number of layers that keep it, and why it is unknown."""
    count = sum(1 for layer in model.layers if layer.mixer in RECURRENT)
    if not count:
        return 0, 0, None
    shape = model.recurrence
    state_item = CONFIG_BYTES.get((shape.state_dtype if shape else None) or "float32")
    window_item = min(2, CONFIG_BYTES.get(model.dtype or "bfloat16", 2))
    if shape is None or state_item is None:
        return 0, count, f"the state of {count} recurrent layers is not known"
    split = options.attention_parallel
    per_layer = Fraction(shape.state_elements * state_item, split)
    per_layer += Fraction(shape.conv_channels * (shape.conv_kernel - 1) * window_item, split)
    return ceil(per_layer * count), count, None
