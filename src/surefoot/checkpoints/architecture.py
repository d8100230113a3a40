"""What a text model is made of, in one normal form for every family: layers in order, attention, experts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from surefoot.evidence import Fact, Finding


class Mixer(StrEnum):
    """How a layer mixes tokens."""

    MHA = "MHA"
    GQA = "GQA"
    MQA = "MQA"
    MLA = "MLA"
    GDN = "Gated DeltaNet"
    MAMBA2 = "Mamba-2"
    KDA = "KDA"
    LINEAR = "linear attention"
    CONV = "convolution"
    NONE = "no mixer"
    UNKNOWN = "unknown"


RECURRENT = frozenset({Mixer.GDN, Mixer.MAMBA2, Mixer.KDA, Mixer.LINEAR, Mixer.CONV})
"""Mixers that carry state from token to token, so that tree branches must not share it."""


class Span(StrEnum):
    """How far back an attention layer looks. `compressed`: at groups of tokens squeezed into one entry."""

    FULL = "full"
    SLIDING = "sliding"
    CHUNKED = "chunked"
    COMPRESSED = "compressed"


class Mlp(StrEnum):
    """What follows the mixer. `both`: a dense MLP beside routed experts in the same layer."""

    DENSE = "dense"
    MOE = "moe"
    BOTH = "dense + moe"
    NONE = "none"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Layer:
    """One decoder layer. `window` is in tokens (the group size for compressed spans), head sizes in elements;
    for MLA they are those of the expanded heads. None is unknown or does not apply."""

    mixer: Mixer
    mlp: Mlp
    span: Span = Span.FULL
    window: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    value_dim: int | None = None
    intermediate_size: int | None = None

    @property
    def label(self) -> str:
        """`GQA`, `GQA sliding 128`, `Gated DeltaNet`."""
        if self.span is Span.FULL:
            return str(self.mixer)
        return f"{self.mixer} {self.span} {self.window}" if self.window else f"{self.mixer} {self.span}"


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention: the cache holds `kv_lora_rank + qk_rope_head_dim` elements a token."""

    q_lora_rank: int | None
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int


@dataclass(frozen=True)
class Indexer:
    """The key selector of sparse attention: `heads` of `head_dim`, `topk` tokens kept a query."""

    heads: int
    head_dim: int
    topk: int


@dataclass(frozen=True)
class Recurrence:
    """Shape of the recurrent layers. Gated DeltaNet and KDA keep a [key_dim, value_dim] state a value head.
    Mamba-2: `key_dim` is the SSM state size, `value_dim` the head size, `key_heads` the B/C groups."""

    mixer: Mixer
    key_heads: int
    key_dim: int
    value_heads: int
    value_dim: int
    conv_kernel: int
    state_dtype: str | None = None

    @property
    def state_elements(self) -> int:
        """Elements of the recurrent state of one layer."""
        return self.value_heads * self.key_dim * self.value_dim

    @property
    def conv_channels(self) -> int:
        """Channels that the short convolution of one layer remembers, `conv_kernel - 1` steps each."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim


@dataclass(frozen=True)
class Moe:
    """Mixture of experts. Sizes are the inner width of one expert; `shared_size` that of all shared ones."""

    experts: int
    top_k: int | None
    expert_size: int | None
    shared: int | None = None
    shared_size: int | None = None
    latent_size: int | None = None
    first_dense: int | None = None
    frequency: int | None = None


@dataclass(frozen=True)
class Rope:
    """Rotary positions: base, kind of scaling (`default`, `yarn`, `llama3`), factor, trained context."""

    theta: float | None
    kind: str | None = None
    factor: float | None = None
    original_context: int | None = None


@dataclass(frozen=True)
class Tower:
    """An encoder beside the text model: `vision` or `audio`."""

    kind: str
    model_type: str | None
    layers: int | None
    hidden_size: int | None


@dataclass(frozen=True)
class Architecture:
    """A model's shape as its config tells it. None is unknown; `facts` says where each value was read."""

    classes: tuple[str, ...]
    model_types: tuple[Fact, ...]
    text_path: str
    family: str | None
    layers: tuple[Layer, ...]
    hidden_size: int | None
    intermediate_size: int | None
    vocab_size: int | None
    context: int | None
    dtype: str | None
    tied_embeddings: bool | None
    gated_mlp: bool
    rope: Rope | None = None
    latent: Latent | None = None
    indexer: Indexer | None = None
    recurrence: Recurrence | None = None
    moe: Moe | None = None
    mtp_layers: int | None = None
    towers: tuple[Tower, ...] = ()
    output_gate: bool = False
    attention_bias: bool = False
    facts: tuple[Fact, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def text_type(self) -> str | None:
        """`model_type` of the text model."""
        return str(self.model_types[0].value) if self.model_types else None

    @property
    def layer_kinds(self) -> dict[str, int]:
        """How many layers of each kind, in order of first appearance."""
        counts: dict[str, int] = {}
        for layer in self.layers:
            counts[layer.label] = counts.get(layer.label, 0) + 1
        return counts
