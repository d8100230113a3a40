"""GGUF files written by the `gguf` package, read by ours; and torn ones."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.checkpoints.checkpoint import understand
from surefoot.checkpoints.gguf import read_gguf
from surefoot.errors import InputError


def write(path: Path) -> Path:
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_block_count(2)
    writer.add_embedding_length(256)
    writer.add_feed_forward_length(512)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_key_length(64)
    writer.add_context_length(4096)
    writer.add_rope_freq_base(1e6)
    writer.add_token_list([f"t{i}" for i in range(100)])
    writer.add_tensor("token_embd.weight", np.zeros((100, 256), np.float16))
    for layer in range(2):
        quantised = gguf.quants.quantize(np.zeros((256, 256), np.float32), gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor(f"blk.{layer}.attn_q.weight", quantised, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", np.zeros(256, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_metadata_and_tensor_types(tmp_path: Path) -> None:
    seen = understand(read_gguf(write(tmp_path / "m.gguf")))
    assert seen.model.layer_kinds == {"GQA": 2}
    assert (seen.model.hidden_size, seen.model.vocab_size, seen.model.context) == (256, 100, 4096)
    assert seen.model.tied_embeddings is True
    assert {entry.name: entry.bytes for entry in seen.weights.dtypes} == {
        "F16": 100 * 256 * 2,
        "Q8_0": 2 * 256 * 256 // 32 * 34,
        "F32": 2 * 256 * 4,
    }
    assert seen.weights.text_parameters == 100 * 256 + 2 * 256 * 256 + 2 * 256
    assert not [finding for finding in seen.findings if finding.code == "shard-size-wrong"]


def test_cut_short(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf")
    path.write_bytes(path.read_bytes()[:-1000])
    assert "shard-size-wrong" in {finding.code for finding in understand(read_gguf(path)).findings}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGUF",
        b"PK\3\4" + b"\0" * 40,
        b"GGUF" + struct.pack("<IQQ", 9, 0, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60),
        b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**63),
        b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"k", 9, 9, 5),
    ],
)
def test_torn_files_are_one_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_gguf(path)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=120))
def test_no_file_is_too_strange(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("g") / "x.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<I", 3) + data)
    with suppress(InputError):
        read_gguf(path)
