"""A config in, an `Architecture` out: the same words for every family, `None` for what is not known."""

from __future__ import annotations

from surefoot.checkpoints.architecture import (
    Architecture,
    Indexer,
    Latent,
    Layer,
    Mixer,
    Mlp,
    Recurrence,
    Rope,
    Span,
    Tower,
)
from surefoot.checkpoints.config import ConfigReader, Json, lookup
from surefoot.checkpoints.experts import mlp_kinds, read_moe
from surefoot.checkpoints.families import Family, family_of
from surefoot.checkpoints.layout import Slot, layout
from surefoot.evidence import Fact, Finding, Level, Method

_TOWERS = (
    ("vision", "vision_config"), ("vision", "visual"), ("audio", "audio_config"),
    ("vision", "thinker_config.vision_config"), ("audio", "thinker_config.audio_config"),
)  # fmt: skip


def normalise(document: Json, file: str = "config.json") -> Architecture:
    """The architecture that a parsed config describes."""
    reader = ConfigReader(document, file)
    classes = _classes(reader)
    model_types = _model_types(reader)
    text_type = str(model_types[0].value) if model_types else None
    family = family_of(text_type, classes)
    hidden = reader.integer("hidden_size", "hidden_size", "n_embd", "d_model")
    slots = layout(reader, family)
    moe = read_moe(reader, family)
    latent = _latent(reader)
    layers = _layers(reader, slots, mlp_kinds(reader, moe, len(slots)), latent, hidden)
    return Architecture(
        classes=classes,
        model_types=model_types,
        text_path=reader.text_path,
        family=family.name if family else None,
        layers=layers,
        hidden_size=hidden,
        intermediate_size=_dense_width(reader),
        vocab_size=reader.integer("vocab_size"),
        context=reader.integer("max_position_embeddings", "max_position_embeddings", "model_max_length", "n_positions"),
        dtype=reader.text("dtype", "dtype", "torch_dtype"),
        tied_embeddings=_tied(reader, family),
        gated_mlp=family is None or family.gated_mlp,
        rope=_rope(reader),
        latent=latent,
        indexer=_indexer(reader),
        recurrence=_recurrence(reader, layers),
        moe=moe,
        mtp_layers=reader.integer(
            "mtp_layers",
            "num_nextn_predict_layers",
            "mtp_num_hidden_layers",
            "num_mtp_modules",
            minimum=0,
            maximum=64,
        ),
        towers=_towers(reader),
        output_gate=bool(reader.boolean("attn_output_gate")),
        attention_bias=bool((family and family.attention_bias) or reader.boolean("attention_bias")),
        facts=tuple(dict.fromkeys(reader.facts)),
        findings=(*reader.findings, *_unknowns(layers, text_type, family)),
    )


def _classes(reader: ConfigReader) -> tuple[str, ...]:
    found = lookup(reader.document, "architectures")
    names = [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
    for name in names:
        reader.note("architectures", name, reader.source("architectures"))
    return tuple(names)


def _model_types(reader: ConfigReader) -> tuple[Fact, ...]:
    """`model_type` at each level, the text model's first."""
    facts = []
    for prefix, level in reader.levels:
        value = level.get("model_type")
        if isinstance(value, str):
            facts.append(Fact("model_type", value, reader.source(f"{prefix}.model_type".strip("."))))
    return tuple(facts)


def _tied(reader: ConfigReader, family: Family | None) -> bool | None:
    tied = reader.boolean("tie_word_embeddings")
    if tied is None and family is not None:
        tied = family.name.startswith("gemma")
        reader.note("tie_word_embeddings", tied, f"default of the {family.name} family", Method.ASSUMED)
    return tied


def _dense_width(reader: ConfigReader) -> int | None:
    """Width of a dense MLP; some families keep `intermediate_size` for the experts."""
    keys = ["intermediate_size_mlp", "dense_intermediate_size", "intermediate_size", "ffn_hidden_size"]
    return reader.integer("intermediate_size", *keys)


def _rope(reader: ConfigReader) -> Rope | None:
    """`rope_theta` with `rope_scaling`, or the newer `rope_parameters` (per layer type in Gemma)."""
    prefix = "rope_parameters.full_attention." if reader.find("rope_parameters.full_attention") else ""
    prefix = prefix or "rope_parameters."
    theta = reader.number("rope_theta", f"{prefix}rope_theta", "rope_theta")
    kind_keys = (f"{prefix}rope_type", "rope_scaling.rope_type", "rope_scaling.type")
    kind = reader.text("rope_scaling.type", *kind_keys)
    factor = reader.number("rope_scaling.factor", f"{prefix}factor", "rope_scaling.factor")
    original = reader.integer(
        "rope_scaling.original_max_position_embeddings",
        f"{prefix}original_max_position_embeddings",
        "rope_scaling.original_max_position_embeddings",
    )
    if theta is None and kind is None:
        return None
    return Rope(theta, kind, factor, original)


def _latent(reader: ConfigReader) -> Latent | None:
    rank = reader.integer("kv_lora_rank")
    if rank is None:
        return None
    nope, rope = reader.integer("qk_nope_head_dim"), reader.integer("qk_rope_head_dim")
    value = reader.integer("v_head_dim")
    query = reader.integer("q_lora_rank")
    if nope is None or rope is None or value is None:
        return None
    return Latent(query, rank, nope, rope, value)


def _indexer(reader: ConfigReader) -> Indexer | None:
    heads, size = reader.integer("index_n_heads"), reader.integer("index_head_dim")
    topk = reader.integer("index_topk")
    return Indexer(heads, size, topk) if heads and size and topk else None


def _towers(reader: ConfigReader) -> tuple[Tower, ...]:
    towers = []
    for kind, path in _TOWERS:
        tower = lookup(reader.document, path)
        if not isinstance(tower, dict):
            continue
        numbers = [tower.get(key) for key in ("depth", "num_hidden_layers", "vt_num_hidden_layers")]
        sizes = [tower.get(key) for key in ("hidden_size", "vt_hidden_size", "d_model")]
        name = tower.get("model_type")
        towers.append(
            Tower(
                kind,
                name if isinstance(name, str) else None,
                next((n for n in numbers if isinstance(n, int)), None),
                next((n for n in sizes if isinstance(n, int)), None),
            )
        )
    return tuple(towers)


def _layers(
    reader: ConfigReader,
    slots: tuple[Slot, ...],
    kinds: tuple[Mlp, ...],
    latent: Latent | None,
    hidden: int | None,
) -> tuple[Layer, ...]:
    heads = reader.integer("num_attention_heads", "num_attention_heads", "n_head")
    kv_heads = reader.integer("num_key_value_heads", "num_key_value_heads", "num_kv_heads", "multi_query_group_num")
    head_dim = reader.integer("head_dim", "head_dim", "attention_head_dim")
    if latent is not None:
        head_dim = latent.qk_nope_head_dim + latent.qk_rope_head_dim
    elif head_dim is None and heads and hidden and hidden % heads == 0:
        head_dim = hidden // heads
        reader.note("head_dim", head_dim, "hidden_size / num_attention_heads", Method.COMPUTED)
    value_dim = reader.integer("v_head_dim") or head_dim
    full_dim, full_kv = reader.integer("global_head_dim"), reader.integer("num_global_key_value_heads")
    window_kv, window_dim = reader.integer("swa_num_key_value_heads"), reader.integer("swa_head_dim")
    window_value = reader.integer("swa_v_head_dim")
    torn = latent is None and reader.find("kv_lora_rank") is not None
    layers = []
    for slot, kind in zip(slots, kinds, strict=True):
        mlp = slot.mlp if slot.mlp is not None else kind
        if slot.mixer is not None:
            layers.append(Layer(slot.mixer, mlp, intermediate_size=slot.width))
            continue
        sliding = slot.span is Span.SLIDING
        groups = slot.kv_heads or (window_kv if sliding else full_kv) or kv_heads
        size = (window_dim if sliding else full_dim) or head_dim
        value = window_value if sliding and window_value else full_dim if full_dim and not sliding else value_dim
        mixer = Mixer.UNKNOWN if torn else _grouping(heads, groups, kv_heads is None)
        mixer = Mixer.MLA if latent is not None else mixer
        layers.append(Layer(mixer, mlp, slot.span, slot.window, heads, groups or heads, size, value, slot.width))
    return tuple(layers)


def _grouping(heads: int | None, kv_heads: int | None, unstated: bool) -> Mixer:
    """MHA, GQA or MQA by head counts; a config that names no key-value heads means one for each head."""
    if heads is None:
        return Mixer.UNKNOWN
    if kv_heads is None:
        return Mixer.MHA if unstated else Mixer.UNKNOWN
    return Mixer.MQA if kv_heads == 1 < heads else Mixer.MHA if kv_heads == heads else Mixer.GQA


def _recurrence(reader: ConfigReader, layers: tuple[Layer, ...]) -> Recurrence | None:
    mixers = {layer.mixer for layer in layers}
    dtype = reader.text("state_dtype", "mamba_ssm_dtype", "mamba_ssm_cache_dtype")
    if Mixer.GDN in mixers:
        names = (
            "linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads", "linear_value_head_dim",
            "linear_conv_kernel_dim",
        )  # fmt: skip
        return _shape(Mixer.GDN, [reader.integer(name) for name in names], dtype)
    if Mixer.MAMBA2 in mixers:
        keys = (
            "n_groups", "ssm_state_size", "mamba_num_heads", "mamba_head_dim", "conv_kernel",
        )  # fmt: skip
        return _shape(Mixer.MAMBA2, [reader.integer(name) for name in keys], dtype)
    if Mixer.KDA in mixers:
        heads = reader.integer("linear_num_heads", "linear_attn_config.num_heads", "linear_num_heads")
        size = reader.integer("linear_head_dim", "linear_attn_config.head_dim", "linear_head_dim")
        kernel = reader.integer(
            "linear_conv_kernel_dim", "linear_attn_config.short_conv_kernel_size", "linear_conv_kernel_dim"
        )
        return _shape(Mixer.KDA, [heads, size, heads, size, kernel], dtype)
    return None


def _shape(mixer: Mixer, numbers: list[int | None], dtype: str | None) -> Recurrence | None:
    known = [number for number in numbers if number is not None]
    if len(known) != 5:
        return None
    key_heads, key_dim, value_heads, value_dim, kernel = known
    return Recurrence(mixer, key_heads, key_dim, value_heads, value_dim, kernel, dtype)


def _unknowns(layers: tuple[Layer, ...], text_type: str | None, family: Family | None) -> list[Finding]:
    findings = []
    if not layers:
        message = "the number of layers is not in the config"
        findings.append(Finding(Level.UNKNOWN, "layers-unknown", message))
    blank = sum(layer.mixer is Mixer.UNKNOWN for layer in layers)
    if blank:
        fact = Fact("model_type", text_type, "config.json")
        message = f"how {blank} of {len(layers)} layers attend is not known for model type {text_type!r}"
        findings.append(Finding(Level.UNKNOWN, "layers-unknown", message, (fact,)))
    elif family is None and layers:
        fact = Fact("model_type", text_type, "config.json")
        message = f"model type {text_type!r} is new to Surefoot: only what its config states is shown"
        findings.append(Finding(Level.NOTE, "model-type-new", message, (fact,)))
    return findings
