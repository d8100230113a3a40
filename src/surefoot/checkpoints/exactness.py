"""Whether a target can verify a draft tree exactly, and what that costs in recurrent state.

Attention forgets a rejected branch by masking it. A recurrent or convolutional layer folds every token into
one state, so each branch of a tree needs its own; sharing it changes the output in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from surefoot.checkpoints.architecture import RECURRENT, Architecture, Mixer, Span
from surefoot.checkpoints.dtypes import CONFIG_BYTES
from surefoot.evidence import Fact, Finding, Level, Method


class ExactnessClass(StrEnum):
    """`any budget`: attention only. `state per node`: only when the engine keeps state for each tree node."""

    ANY_BUDGET = "exact at any budget"
    STATE_PER_NODE = "exact only with state per node"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Exactness:
    """`state_bytes` is what one tree node must keep, recurrent state and convolution window of all layers;
    0 without such layers, None when it cannot be worked out."""

    kind: ExactnessClass
    state_bytes: int | None
    finding: Finding


def exactness(model: Architecture) -> Exactness:
    """Judge a target under tree verification."""
    kinds = ", ".join(f"{count} {label}" for label, count in model.layer_kinds.items())
    fact = Fact("layers", kinds, "config.json")
    if not model.layers or any(layer.mixer is Mixer.UNKNOWN for layer in model.layers):
        message = "not all layers are known, so it is not known whether a draft tree is verified exactly"
        finding = Finding(Level.UNKNOWN, "tree-exactness", message, (fact,))
        return Exactness(ExactnessClass.UNKNOWN, None, finding)
    recurrent = [layer for layer in model.layers if layer.mixer in RECURRENT]
    if any(layer.span is Span.COMPRESSED for layer in model.layers):
        message = "groups of tokens share one entry: a tree is exact only with one for each node"
        finding = Finding(Level.WARNING, "tree-exactness", message, (fact,), "use plain or dflash")
        return Exactness(ExactnessClass.STATE_PER_NODE, None, finding)
    if not recurrent:
        message = "attention only: a draft tree of any budget is verified exactly"
        return Exactness(ExactnessClass.ANY_BUDGET, 0, Finding(Level.OK, "tree-exactness", message, (fact,)))
    size = _state_bytes(model, len(recurrent))
    facts = [fact]
    if size is not None:
        formula = "recurrent layers x (state elements x state type + channels x (kernel - 1) x model type)"
        facts.append(Fact("state_bytes_per_node", size, formula, Method.COMPUTED))
    message = (
        f"{len(recurrent)} of {len(model.layers)} layers carry state: a tree is exact only when the engine "
        "keeps recurrent and convolution state for each node"
    )
    remedy = "use an engine that does, check that greedy output equals plain decoding, or use dflash"
    finding = Finding(Level.WARNING, "tree-exactness", message, tuple(facts), remedy)
    return Exactness(ExactnessClass.STATE_PER_NODE, size, finding)


def _state_bytes(model: Architecture, layers: int) -> int | None:
    """State of one node in bytes. Without a stated type the recurrent state is taken as float32, as engines
    keep it by default; the convolution window has the model's type."""
    shape = model.recurrence
    if shape is None:
        return None
    item = CONFIG_BYTES.get(shape.state_dtype or "float32")
    window_item = CONFIG_BYTES.get(model.dtype or "bfloat16")
    if item is None or window_item is None:
        return None
    window = shape.conv_channels * (shape.conv_kernel - 1) * window_item
    return layers * (shape.state_elements * item + window)
