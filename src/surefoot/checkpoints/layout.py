"""Which layer is what: the order of layers, from whichever of the many ways a config has to say it."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.checkpoints.architecture import Mixer, Mlp, Span
from surefoot.checkpoints.config import MAX_LAYERS, ConfigReader
from surefoot.checkpoints.families import Family
from surefoot.evidence import Fact, Finding, Level, Method

ATTENTION = "attention"


@dataclass(frozen=True)
class Slot:
    """One layer before sizes are filled in. `mixer` None is attention whose kind the head counts decide;
    `mlp` None leaves the MLP to the expert rules. `kv_heads` and `width` where a layer has its own."""

    mixer: Mixer | None = None
    span: Span = Span.FULL
    window: int | None = None
    mlp: Mlp | None = None
    kv_heads: int | None = None
    width: int | None = None


_UNKNOWN = Slot(Mixer.UNKNOWN)
_PATTERN = {
    "M": Slot(Mixer.MAMBA2, mlp=Mlp.NONE), "*": Slot(mlp=Mlp.NONE),
    "-": Slot(Mixer.NONE, mlp=Mlp.DENSE), "E": Slot(Mixer.NONE, mlp=Mlp.MOE),
}  # fmt: skip
_BLOCKS = {
    "mamba": _PATTERN["M"], "mamba2": _PATTERN["M"], "attention": _PATTERN["*"],
    "mlp": _PATTERN["-"], "moe": _PATTERN["E"],
}  # fmt: skip


def layout(reader: ConfigReader, family: Family | None) -> tuple[Slot, ...]:
    """The layers in order; empty when not even their number is known."""
    count = reader.integer("num_hidden_layers", "num_hidden_layers", "n_layer", "n_layers", maximum=MAX_LAYERS)
    for rule in (_pattern, _blocks, _nas_blocks, _layer_types, _numbered, _linear_lists):
        slots = rule(reader, family)
        if slots is not None:
            return _fitted(reader, slots, count)
    if count is None:
        return ()
    return _family_default(reader, family, count)


def _fitted(reader: ConfigReader, slots: list[Slot], count: int | None) -> tuple[Slot, ...]:
    """`slots` cut to the stated layer count (lists may go on with MTP layers) or filled up with unknowns."""
    if count is None:
        reader.note("num_hidden_layers", len(slots), "length of the layer list", Method.COMPUTED)
        return tuple(slots)
    if len(slots) < count:
        facts = (
            Fact("listed_layers", len(slots), reader.file),
            Fact("num_hidden_layers", count, reader.file),
        )
        message = f"the layer list names {len(slots)} layers of {count}; the others stay unknown"
        reader.findings.append(Finding(Level.WARNING, "layer-list-short", message, facts))
    return tuple(slots[:count] + [_UNKNOWN] * (count - len(slots)))


def _pattern(reader: ConfigReader, family: Family | None) -> list[Slot] | None:
    found = reader.find("hybrid_override_pattern")
    if found is None or not isinstance(found[0], str) or not 0 < len(found[0]) <= MAX_LAYERS:
        return None
    reader.note("hybrid_override_pattern", found[0], reader.source(found[1]))
    return [_PATTERN.get(letter, _UNKNOWN) for letter in found[0]]


def _blocks(reader: ConfigReader, family: Family | None) -> list[Slot] | None:
    names = reader.sequence("layers_block_type")
    return names and [_BLOCKS.get(name, _UNKNOWN) if isinstance(name, str) else _UNKNOWN for name in names]


def _nas_blocks(reader: ConfigReader, family: Family | None) -> list[Slot] | None:
    """Puzzle models (`block_configs`): every block has its own group size and MLP factor, or none at all."""
    blocks = reader.sequence("block_configs")
    heads = reader.integer("num_attention_heads")
    hidden = reader.integer("hidden_size")
    if blocks is None:
        return None
    slots = []
    for block in blocks:
        attention = block.get("attention") if isinstance(block, dict) else None
        ffn = block.get("ffn") if isinstance(block, dict) else None
        if not isinstance(attention, dict) or not isinstance(ffn, dict):
            slots.append(_UNKNOWN)
            continue
        group, factor = attention.get("n_heads_in_group"), ffn.get("ffn_mult")
        mixer = Mixer.NONE if attention.get("no_op") else None
        if attention.get("replace_with_linear"):
            mixer = Mixer.UNKNOWN
        kv_heads = heads // group if heads and isinstance(group, int) and group > 0 else None
        width = None
        if hidden and isinstance(factor, int | float) and 0 < factor < 1000:
            width = -(-int(2 * factor * hidden / 3) // 256) * 256
        mlp = Mlp.NONE if ffn.get("no_op") else Mlp.UNKNOWN if ffn.get("replace_with_linear") else Mlp.DENSE
        slots.append(Slot(mixer, mlp=mlp, kv_heads=kv_heads, width=width))
    return slots


def _layer_types(reader: ConfigReader, family: Family | None) -> list[Slot] | None:
    names = reader.sequence("layer_types")
    if names is None:
        return None
    window = reader.integer("sliding_window", odd=False)
    chunk = reader.integer("attention_chunk_size", odd=False)
    known = {
        "full_attention": Slot(),
        "attention": Slot(),
        "deepseek_sparse_attention": Slot(),
        "sliding_attention": Slot(span=Span.SLIDING, window=window),
        "chunked_attention": Slot(span=Span.CHUNKED, window=chunk),
        "linear_attention": Slot(family.linear if family else Mixer.UNKNOWN),
        "compressed_sparse_attention": Slot(span=Span.COMPRESSED, window=4),
        "heavily_compressed_attention": Slot(span=Span.COMPRESSED, window=128),
        "conv": Slot(Mixer.CONV),
        "mamba": Slot(Mixer.MAMBA2 if family and family.name == "nemotron_h" else Mixer.UNKNOWN),
    }
    return [known.get(name, _UNKNOWN) if isinstance(name, str) else _UNKNOWN for name in names]


def _numbered(reader: ConfigReader, family: Family | None) -> list[Slot] | None:
    """Lists of numbers: `compress_ratios` (DeepSeek V4), `hybrid_layer_pattern` (MiMo), `attn_type_list`
    (MiniMax: 1 is full attention)."""
    window = reader.integer("sliding_window", "sliding_window", "sliding_window_size", odd=False)
    if (ratios := reader.sequence("compress_ratios")) is not None:
        return [_compressed(ratio, window) for ratio in ratios]
    if (pattern := reader.sequence("hybrid_layer_pattern")) is not None:
        sliding = Slot(span=Span.SLIDING, window=window)
        return [{0: Slot(), 1: sliding}.get(entry, _UNKNOWN) if _is_int(entry) else _UNKNOWN for entry in pattern]
    if (kinds := reader.sequence("attn_type_list")) is not None:
        linear = Slot(family.linear if family else Mixer.UNKNOWN)
        return [{0: linear, 1: Slot()}.get(kind, _UNKNOWN) if _is_int(kind) else _UNKNOWN for kind in kinds]
    return None


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _compressed(ratio: object, window: int | None) -> Slot:
    """A ratio of 0 is attention within the sliding window only; others see groups of `ratio` tokens too."""
    if not isinstance(ratio, int) or isinstance(ratio, bool) or ratio < 0:
        return _UNKNOWN
    return Slot(span=Span.COMPRESSED, window=ratio) if ratio else Slot(span=Span.SLIDING, window=window)


def _linear_lists(reader: ConfigReader, family: Family | None) -> list[Slot] | None:
    """Kimi Linear: `linear_attn_config` numbers the layers of each kind from 1."""
    full = reader.sequence("full_attn_layers", "linear_attn_config.full_attn_layers")
    delta = reader.sequence("kda_layers", "linear_attn_config.kda_layers")
    if full is None or delta is None:
        return None
    numbers = {entry: Slot() for entry in full if _is_int(entry)}
    numbers |= {entry: Slot(Mixer.KDA) for entry in delta if _is_int(entry)}
    last = min(max(numbers, default=0), MAX_LAYERS)
    return [numbers.get(index + 1, _UNKNOWN) for index in range(last)]


def _family_default(reader: ConfigReader, family: Family | None, count: int) -> tuple[Slot, ...]:
    """No list at all: what the modelling code of the family does, and nothing for an unknown family."""
    if family is None:
        return (_UNKNOWN,) * count
    interval = reader.integer("full_attention_interval")
    if family.linear is not Mixer.UNKNOWN:
        if interval is None:
            return (_UNKNOWN,) * count
        return tuple(Slot() if (i + 1) % interval == 0 else Slot(family.linear) for i in range(count))
    if family.name in ("nemotron_h", "lfm2", "deepseek_v4"):
        return (_UNKNOWN,) * count
    if family.name == "llama4":
        return _llama4(reader, count)
    window = reader.integer("sliding_window", odd=False)
    if window is None or reader.boolean("use_sliding_window") is False:
        return (Slot(),) * count
    sliding = Slot(span=Span.SLIDING, window=window)
    if family.window == "all":
        return (sliding,) * count
    if family.window == "after-max-window-layers":
        first = reader.integer("max_window_layers", minimum=0)
        if reader.find("use_sliding_window") is None or first is None:
            return (Slot(),) * count
        return tuple(sliding if i >= first else Slot() for i in range(count))
    if family.window.startswith("every:"):
        period = reader.integer("sliding_window_pattern", maximum=MAX_LAYERS, odd=False)
        period = period or int(family.window.removeprefix("every:"))
        return tuple(Slot() if (i + 1) % period == 0 else sliding for i in range(count))
    return (Slot(),) * count


def _llama4(reader: ConfigReader, count: int) -> tuple[Slot, ...]:
    """Layers without rotary positions see everything, the others a chunk; by default each fourth is free."""
    chunk = Slot(span=Span.CHUNKED, window=reader.integer("attention_chunk_size"))
    rotary = reader.sequence("no_rope_layers") or [int((i + 1) % 4 != 0) for i in range(count)]
    slots = [chunk if entry == 1 else Slot() for entry in rotary[:count]]
    return tuple(slots + [_UNKNOWN] * (count - len(slots)))
