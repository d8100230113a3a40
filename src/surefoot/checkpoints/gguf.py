"""GGUF: metadata and tensor table from the front of the file, within fixed bounds, no weight read.

Layout (GGUF version 2 and 3): magic, version, tensor count, key-value count, keys with typed values, then a
name, dimensions, type and offset for each tensor.
"""

from __future__ import annotations

import json
import struct
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from surefoot.checkpoints.config import Json
from surefoot.checkpoints.dtypes import GGML
from surefoot.checkpoints.snapshot import Access, Document, Gate, Origin, Snapshot, StoredFile
from surefoot.checkpoints.tensors import Tensor, fold
from surefoot.errors import InputError
from surefoot.evidence import Finding, Level

MAX_STRING = 2**20
MAX_KEYS = 100_000
MAX_TENSORS = 1_000_000
MAX_ARRAY = 10_000_000
_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
_KEPT = 64
"""Array entries kept; longer arrays (the vocabulary) are known by their length alone."""


def read_gguf(path: Path) -> Snapshot:
    """A snapshot of a single GGUF file. Raises `InputError` when it is none or torn."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            metadata, tensors = _Reader(stream, path.name, size).read()
            end = stream.tell()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    findings = []
    held = sum(tensor.size for tensor in tensors)
    if held > size - end:
        message = f"{path.name} is cut short: its tensors need {held} bytes, {size - end} follow the header"
        findings.append(Finding(Level.BLOCKER, "shard-size-wrong", message, (), "download the file again"))
    return Snapshot(
        reference=str(path),
        origin=Origin.GGUF,
        access=Access(Gate.LOCAL, True),
        files=(StoredFile(path.name, size),),
        documents=(Document("gguf.json", json.dumps(metadata)),),
        tensors=fold({tensor.name: tensor for tensor in tensors}.values()),
        findings=tuple(findings),
    )


class _Reader:
    """Reads the front of a GGUF file; every length is checked before it is believed."""

    def __init__(self, stream: BinaryIO, name: str, size: int) -> None:
        self.stream, self.name, self.size = stream, name, size

    def read(self) -> tuple[Json, list[Tensor]]:
        if self._bytes(4) != b"GGUF":
            raise InputError(f"{self.name} is no GGUF file")
        version = self._number("<I")
        if version not in (2, 3):
            raise InputError(f"{self.name} is GGUF version {version}; versions 2 and 3 are known")
        tensors = self._count(MAX_TENSORS, "tensors")
        keys = self._count(MAX_KEYS, "keys")
        metadata: Json = {}
        for _ in range(keys):
            key = self._string()
            metadata[key] = self._value(self._number("<I"), 0)
        return metadata, [self._tensor() for _ in range(tensors)]

    def _bytes(self, count: int) -> bytes:
        if count > self.size - self.stream.tell():
            raise InputError(f"{self.name} ends in the middle of its header")
        return self.stream.read(count)

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _count(self, limit: int, what: str) -> int:
        count: int = self._number("<Q")
        if count > limit:
            raise InputError(f"{self.name} claims {count} {what}, which cannot be")
        return count

    def _string(self) -> str:
        return self._bytes(self._count(MAX_STRING, "characters in a string")).decode("utf-8", "replace")

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY or depth > 2:
            raise InputError(f"{self.name} holds a value of unknown type {kind}")
        inner, count = self._number("<I"), self._count(MAX_ARRAY, "array entries")
        if inner in _SCALARS:
            width = struct.calcsize(_SCALARS[inner])
            data = self._bytes(count * width)[: _KEPT * width]
            kept = [entry[0] for entry in struct.iter_unpack(_SCALARS[inner], data)]
        else:
            kept = []
            for index in range(count):
                value = self._value(inner, depth + 1)
                if index < _KEPT:
                    kept.append(value)
        return kept if count <= _KEPT else {"length": count, "first": kept}

    def _tensor(self) -> Tensor:
        name = self._string()
        dimensions = self._number("<I")
        if dimensions > 8:
            raise InputError(f"{self.name} declares {name[:200]!r} with {dimensions} dimensions")
        shape = tuple(reversed([int(self._number("<Q")) for _ in range(dimensions)]))
        kind, _ = self._number("<I"), self._number("<Q")
        label, block, width = GGML.get(kind, (f"ggml type {kind}", 1, 0))
        return Tensor(name, label, shape, prod(shape) // block * width)


_KEYS = {
    "block_count": "num_hidden_layers", "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size", "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads", "attention.key_length": "head_dim",
    "context_length": "max_position_embeddings", "rope.freq_base": "rope_theta", "vocab_size": "vocab_size",
    "expert_count": "num_experts", "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size", "attention.sliding_window": "sliding_window",
    "attention.kv_lora_rank": "kv_lora_rank", "attention.q_lora_rank": "q_lora_rank",
    "leading_dense_block_count": "first_k_dense_replace", "expert_shared_count": "n_shared_experts",
    "nextn_predict_layers": "num_nextn_predict_layers",
}  # fmt: skip
_TYPES = {
    "qwen2": "qwen2", "qwen2moe": "qwen2_moe", "qwen3": "qwen3", "qwen3moe": "qwen3_moe", "llama": "llama",
    "deepseek2": "deepseek_v3", "gpt-oss": "gpt_oss", "glm4moe": "glm4_moe", "qwen3next": "qwen3_next",
    "minimax-m2": "minimax_m2", "nemotron_h": "nemotron_h", "gemma3": "gemma3", "gemma2": "gemma2",
}  # fmt: skip


def described_config(metadata: Json, tied: bool) -> Json:
    """GGUF metadata in the words of a config.json, where the two mean the same. `tied`: no head."""
    name = metadata.get("general.architecture")
    if not isinstance(name, str):
        return {}
    config: Json = {"model_type": _TYPES.get(name, name), "tie_word_embeddings": tied}
    for path, word in _KEYS.items():
        number = metadata.get(f"{name}.{path}")
        if isinstance(number, int | float) and not isinstance(number, bool):
            config[word] = number
    key, value, rope = (
        metadata.get(f"{name}.{part}")
        for part in ("attention.key_length_mla", "attention.value_length_mla", "rope.dimension_count")
    )
    if isinstance(key, int) and isinstance(value, int) and isinstance(rope, int):
        config |= {"qk_nope_head_dim": key - rope, "qk_rope_head_dim": rope, "v_head_dim": value}
    tokens = metadata.get("tokenizer.ggml.tokens")
    if "vocab_size" not in config and isinstance(tokens, dict):
        config["vocab_size"] = tokens.get("length")
    return config
