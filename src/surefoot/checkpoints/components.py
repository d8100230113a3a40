"""Which part of a model a tensor belongs to, by its name."""

from __future__ import annotations

import re
from enum import StrEnum

from surefoot.checkpoints.tensors import TensorGroup


class Component(StrEnum):
    """Parts that are sized apart. `scales`: scales, zero points and other metadata of quantization."""

    EMBEDDINGS = "embeddings"
    ATTENTION = "attention"
    RECURRENT = "recurrent mixers"
    EXPERTS = "routed experts"
    SHARED = "shared experts"
    ROUTER = "routers"
    MLP = "dense MLP"
    NORMS = "norms"
    HEAD = "head"
    VISION = "vision and audio"
    MTP = "MTP"
    SCALES = "scales and zeros"
    OTHER = "other"


TEXT = frozenset(Component) - {Component.VISION, Component.MTP, Component.SCALES}
"""What the text model computes with."""

_RULES: tuple[tuple[Component, re.Pattern[str]], ...] = tuple(
    (component, re.compile(pattern))
    for component, pattern in (
        (
            Component.SCALES,
            r"(?:^|[._])(?:(?:weight|input|output|k|v|q)_)?(?:global_)?scales?(?:_2|_inv)?$"
            r"|(?:^|\.)(?:qzeros|weight_zero_point|zero_point|g_idx|weight_g_idx|weight_shape|zeros)$",
        ),
        (Component.MTP, r"(?:^|\.)mtp\b|nextn|mtp_(?:block|layers?)"),
        (
            Component.VISION,
            r"vision|visual|(?:^|\.)(?:vit|v\.|mm\.)|image_newline|mm_projector|multi_modal_projector"
            r"|patch_embed|audio|embed_(?:vision|audio)",
        ),
        (
            Component.EMBEDDINGS,
            r"embed_tokens|wte\.|tok_embeddings|word_embeddings|token_embd|^embed\.|embeddings?\.weight",
        ),
        (Component.HEAD, r"lm_head|^output\.weight|^head\.weight|embed_out"),
        (Component.SHARED, r"shared_?experts?|share_expert|_shexp\b"),
        (
            Component.ROUTER,
            r"(?:mlp|moe|ffn|mixer|feed_forward)\.gate\.|router|e_score_correction|ffn_gate_inp|exp_probs",
        ),
        (Component.EXPERTS, r"\bexperts\b|_exps\b"),
        (
            Component.NORMS,
            r"^(?:[a-z_]+\.)*(?:(?:layers|blk|h)\.\{\}\.)?[a-z_]*norm[a-z_0-9]*\.(?:weight|bias)$",
        ),
        (
            Component.RECURRENT,
            r"linear_attn|mamba|ssm|conv1d|\bA_log\b|\bdt_bias\b|mixer\.(?:in_proj|out_proj|norm|D\b)|_conv\b"
            r"|(?:self_attn|attn)\.(?:f_[ab]|g_[ab]|b)_proj",
        ),
        (Component.ATTENTION, r"attn|attention|mixer\.[qkvo]_proj"),
        (Component.MLP, r"mlp|ffn|feed_forward|(?:up|down|gate)_proj"),
    )
)  # fmt: skip
_LAYER = re.compile(r"(?:^|\.)(?:layers|blk|h|blocks)\.\{\}")


def component_of(name: str) -> Component:
    """The component of a tensor name (numbers folded to `{}`), as far as the name alone tells."""
    return next((component for component, pattern in _RULES if pattern.search(name)), Component.OTHER)


def shares(group: TensorGroup, layers: int) -> dict[Component, int]:
    """How many tensors of a group belong to which component: decoder layers past the last are MTP layers."""
    component = component_of(group.name)
    match = _LAYER.search(group.name)
    if match is None or layers == 0 or component is Component.VISION or not group.boxes:
        return {component: group.count}
    below, above = group.split(group.name[: match.end()].count("{}") - 1, layers)
    after = Component.SCALES if component is Component.SCALES else Component.MTP
    counts: dict[Component, int] = {component: below}
    counts[after] = counts.get(after, 0) + above
    return {part: count for part, count in counts.items() if count}
