"""What kind of drafter a checkpoint is, from its own config: block size, taps, mask token, window."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from surefoot.checkpoints.architecture import Architecture
from surefoot.checkpoints.config import Json, lookup
from surefoot.evidence import Fact


class DrafterKind(StrEnum):
    """Kinds of drafters. `model`: an ordinary small model that can draft."""

    DFLASH = "DFlash"
    DFLASH2 = "DFlash2"
    DSPARK = "DSpark"
    EAGLE = "EAGLE"
    EAGLE3 = "EAGLE-3"
    MEDUSA = "Medusa"
    MTP = "MTP head"
    MODEL = "small model"


BLOCK_KINDS = frozenset({DrafterKind.DFLASH, DrafterKind.DFLASH2, DrafterKind.DSPARK})
"""Kinds that read taps of the target and draft a whole block at once."""


@dataclass(frozen=True)
class Drafter:
    """A drafter. `taps` are target layer ids (the output of block l, `hidden_states[l + 1]` in transformers),
    `block_size` counts the anchor token. None is not stated."""

    kind: DrafterKind
    block_size: int | None = None
    taps: tuple[int, ...] = ()
    mask_token_id: int | None = None
    target_layers: int | None = None
    target_hidden_size: int | None = None
    window: int | None = None
    causal: bool | None = None
    draft_vocab_size: int | None = None
    facts: tuple[Fact, ...] = ()


def recognise(config: Json, model: Architecture) -> Drafter:
    """The drafter a config describes."""
    reader = _Facts(config)
    kind = _kind(config, model)
    nested = ("dflash_config", "dspark_config", "speculators_config", "eagle_config")
    taps = reader.integers(
        "target_layer_ids",
        *(f"{name}.target_layer_ids" for name in nested),
        "target_layer_ids",
        "aux_hidden_state_layer_ids",
        "eagle_config.eagle_aux_hidden_state_layer_ids",
        "eagle_aux_hidden_state_layer_ids",
    )
    return Drafter(
        kind=kind,
        block_size=reader.integer("block_size", "block_size", *(f"{name}.block_size" for name in nested)),
        taps=taps,
        mask_token_id=reader.integer("mask_token_id", *(f"{name}.mask_token_id" for name in nested), "mask_token_id"),
        target_layers=reader.integer("num_target_layers", "num_target_layers", "dflash_config.num_target_layers"),
        target_hidden_size=reader.integer(
            "target_hidden_size", "target_hidden_size", "dflash_config.target_hidden_size"
        ),
        window=reader.integer("sliding_window", "sliding_window") if _windowed(config) else None,
        causal=reader.boolean("is_causal", "is_causal", "dflash_config.is_causal"),
        draft_vocab_size=reader.integer("draft_vocab_size", "draft_vocab_size"),
        facts=tuple(reader.facts),
    )


def _windowed(config: Json) -> bool:
    types = config.get("layer_types")
    return isinstance(types, list) and "sliding_attention" in types


def _kind(config: Json, model: Architecture) -> DrafterKind:
    names = " ".join((*model.classes, model.text_type or "")).lower()
    projector = lookup(config, "dflash_config.projector_type")
    if "dspark" in names or projector == "dspark" or "dspark_config" in config:
        return DrafterKind.DSPARK
    if "dflash2" in names:
        return DrafterKind.DFLASH2
    if "dflash" in names or "dflash_config" in config:
        return DrafterKind.DFLASH
    if "eagle3" in names or "draft_vocab_size" in config:
        return DrafterKind.EAGLE3
    if "eagle" in names:
        return DrafterKind.EAGLE
    if "medusa" in names or "medusa_num_heads" in config:
        return DrafterKind.MEDUSA
    if "nextn" in names or "mtp" in names:
        return DrafterKind.MTP
    return DrafterKind.MODEL


class _Facts:
    """Reads values at the first path that has one, and remembers the path."""

    def __init__(self, config: Json) -> None:
        self.config = config
        self.facts: list[Fact] = []

    def _first(self, name: str, paths: tuple[str, ...], kind: type) -> Any:
        for path in paths:
            value = lookup(self.config, path)
            if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
                shown: Any = str(value)[:200] if isinstance(value, list) else value
                self.facts.append(Fact(name, shown, f"config.json: {path}"))
                return value
        return None

    def integer(self, name: str, *paths: str) -> int | None:
        value: int | None = self._first(name, paths, int)
        return value if value is not None and 0 <= value < 2**31 else None

    def boolean(self, name: str, *paths: str) -> bool | None:
        value: bool | None = self._first(name, paths, bool)
        return value

    def integers(self, name: str, *paths: str) -> tuple[int, ...]:
        value = self._first(name, paths, list) or []
        return tuple(entry for entry in value[:1024] if type(entry) is int)
