"""What format the tensors are really stored in, told by the tensors that stand together under one name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from surefoot.checkpoints.dtypes import BITS
from surefoot.checkpoints.tensors import TensorGroup

UNQUANTISED = frozenset({"BF16", "F16", "F32", "F64"})


@dataclass(frozen=True)
class Held:
    """The format of one group of weights. `packed` is how many weights one stored element holds, `why` the
    tensors that tell."""

    format: str
    packed: int
    group_size: int | None
    why: str


def held_formats(groups: Iterable[TensorGroup], bits: int | None) -> dict[TensorGroup, Held]:
    """The format of every weight group (scales and the like left out). `bits` is the width that the config
    claims for integers packed in 32-bit words, as the words alone do not tell."""
    groups = tuple(groups)
    families: dict[str, list[TensorGroup]] = {}
    for group in groups:
        families.setdefault(_base(group.name), []).append(group)
    held: dict[TensorGroup, Held] = {}
    for members in families.values():
        scales = {_leaf(member.name): member for member in members if is_metadata(member.name)}
        for member in members:
            if not is_metadata(member.name):
                held[member] = _judge(member, scales, bits)
    return held


_METADATA = (
    "weight_scale", "weight_scale_2", "weight_scale_inv", "weight_global_scale", "input_scale", "scale",
    "input_global_scale", "scales", "qzeros", "g_idx", "weight_g_idx", "weight_shape", "weight_zero_point",
    "k_scale", "v_scale", "q_scale", "output_scale", "zeros",
)  # fmt: skip
_SUFFIXES = ("_scales", "_scale", "_scale_inv", "_blocks")


def is_metadata(name: str) -> bool:
    """True for scales, zero points and the like."""
    leaf = _leaf(name)
    return leaf in _METADATA or leaf.endswith(("_scales", "_scale", "_scale_inv"))


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]


def _base(name: str) -> str:
    """What weight and scales have in common: the module, with the fused name where there is one."""
    module, _, leaf = name.rpartition(".")
    if leaf not in _METADATA:
        for suffix in _SUFFIXES:
            if leaf.endswith(suffix):
                return f"{module}.{leaf.removesuffix(suffix)}"
        if leaf in ("gate_up_proj", "down_proj"):
            return name
    return module


def _judge(weight: TensorGroup, scales: dict[str, TensorGroup], bits: int | None) -> Held:
    leaf, dtype = _leaf(weight.name), weight.dtype
    scale = _scale(leaf, scales)
    beside = f" with {scale.dtype} {_leaf(scale.name)}" if scale is not None else ""
    why = f"{leaf} {dtype} {list(weight.shape)}{beside}{list(scale.shape) if scale is not None else ''}"
    if dtype not in BITS:
        return Held(dtype, 1, None, why)
    if dtype in UNQUANTISED:
        return Held(dtype, 1, None, why)
    if dtype in ("I32", "U32") and leaf in ("qweight", "weight_packed", "weight") and scale is not None:
        width = bits if bits in (2, 4, 8) else 4
        return Held(f"INT{width}", 32 // width, _group(weight, scale, 32 // width), why)
    if dtype in ("U8", "I8", "F4") and scale is not None:
        packed = 1 if dtype == "F4" else 2
        if scale.dtype == "F8_E4M3":
            return Held("NVFP4", packed, _group(weight, scale, packed), why)
        if scale.dtype in ("U8", "F8_E8M0"):
            return Held("MXFP4", packed, _group(weight, scale, packed), why)
        if dtype == "I8":
            return Held("INT8", 1, None, why)
    if dtype.startswith("F8_"):
        return Held("FP8", 1, None, why)
    return Held(dtype, 1, None, why)


def _scale(leaf: str, scales: dict[str, TensorGroup]) -> TensorGroup | None:
    stem = leaf.removesuffix("_blocks")
    for name in (f"{stem}_scales", f"{stem}_scale", f"{stem}_scale_inv", "weight_scale", "weight_scale_inv",
                 "scales", "scale"):  # fmt: skip
        if name in scales:
            return scales[name]
    return None


def _group(weight: TensorGroup, scale: TensorGroup, packed: int) -> int | None:
    """Weights that share one scale, from the element counts of both."""
    if scale.elements == 0 or (weight.elements * packed) % scale.elements:
        return None
    return weight.elements * packed // scale.elements
