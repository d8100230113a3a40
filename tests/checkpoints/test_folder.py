"""Folders on disk, good and bad."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from surefoot.checkpoints.checkpoint import Checkpoint, understand
from surefoot.checkpoints.folder import read_folder
from surefoot.checkpoints.reference import read_local
from surefoot.checkpoints.safetensors_header import header_length, parse_header
from surefoot.checkpoints.snapshot import Snapshot
from surefoot.errors import InputError, SurefootError, UsageError
from surefoot.evidence import Level
from surefoot.records import from_json, to_json

Make = Callable[..., Path]


def codes(folder: Path) -> dict[str, Level]:
    return {finding.code: finding.level for finding in understand(read_folder(folder)).findings}


def test_a_folder_is_weighed_to_the_byte(make_model: Make, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m", shards=3)
    seen = understand(read_folder(folder))
    arrays = [array for file in folder.glob("*.safetensors") for array in load_file(file).values()]
    assert seen.weights.bytes == sum(array.nbytes for array in arrays)
    assert seen.weights.file_bytes == sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    assert seen.weights.parameters == sum(array.size for array in arrays)
    assert seen.promised is not None
    assert seen.promised.total == seen.weights.text_parameters
    assert {entry.name: entry.bytes for entry in seen.weights.components}["embeddings"] == 64 * 16 * 4
    assert [entry.name for entry in seen.weights.dtypes] == ["F32"]
    assert seen.weights.active_parameters == seen.weights.text_parameters


def test_a_snapshot_survives_json_and_gives_the_same_answer(model_folder: Path, tmp_path: Path) -> None:
    snapshot = read_folder(model_folder)
    saved = tmp_path / "saved.json"
    saved.write_bytes(to_json(snapshot))
    again = read_local(str(saved))
    assert again == snapshot
    assert understand(again) == understand(snapshot)
    assert from_json(to_json(understand(snapshot)), Checkpoint, source="x") == understand(snapshot)


def test_a_missing_and_an_empty_shard(make_model: Make, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m", shards=3)
    (folder / "model-00002-of-00003.safetensors").unlink()
    (folder / "model-00003-of-00003.safetensors").write_bytes(b"")
    found = codes(folder)
    assert (found["shards-missing"], found["shard-empty"]) == (Level.BLOCKER, Level.BLOCKER)


def test_a_shard_cut_short(model_folder: Path) -> None:
    file = model_folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-8])
    assert codes(model_folder)["shard-size-wrong"] is Level.BLOCKER


def test_index_and_shards_disagree(make_model: Make, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m", shards=2)
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    names = sorted(index["weight_map"])
    files = sorted(set(index["weight_map"].values()))
    index["weight_map"][names[0]] = files[1] if index["weight_map"][names[0]] == files[0] else files[0]
    del index["weight_map"][names[1]]
    index["weight_map"]["model.ghost"] = files[0]
    index["metadata"]["total_size"] += 1
    path.write_text(json.dumps(index))
    found = codes(folder)
    assert found["index-tensor-moved"] is Level.BLOCKER
    assert found["index-tensor-absent"] is Level.BLOCKER
    assert found["index-tensor-unlisted"] is Level.WARNING
    assert found["index-size-differs"] is Level.WARNING


def test_tensors_stored_twice(make_model: Make, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m", shards=2)
    extra = load_file(folder / "model-00001-of-00002.safetensors")
    save_file(
        load_file(folder / "model-00002-of-00002.safetensors") | extra,
        folder / "model-00002-of-00002.safetensors",
    )
    assert codes(folder)["tensors-repeated"] is Level.WARNING


def test_copies_that_would_be_downloaded_too(model_folder: Path) -> None:
    (model_folder / "original").mkdir()
    (model_folder / "original" / "consolidated.00.pth").write_bytes(b"x" * 100)
    save_file({"a": np.zeros(4, np.float32)}, model_folder / "consolidated.safetensors")
    (model_folder / "tiny-Q4_K_M.gguf").write_bytes(b"GGUF")
    seen = understand(read_folder(model_folder))
    finding = next(entry for entry in seen.findings if entry.code == "extra-weight-copies")
    assert finding.message.startswith("3 more weight files")
    assert finding.remedy == "--exclude 'consolidated*.safetensors' --exclude 'original/*.pth' --exclude 'tiny*.gguf'"
    assert seen.weights.files == 1


def test_pickles_only(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04boom")
    assert codes(tmp_path)["weights-pickled"] is Level.WARNING


def header(entries: object) -> bytes:
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (struct.pack("<Q", 2**63) + b"{}", "shard-unreadable"),
        (b"abc", "shard-unreadable"),
        (struct.pack("<Q", 5) + b"{]}}}", "shard-unreadable"),
        (struct.pack("<Q", 2) + b"\xff\xfe", "shard-unreadable"),
        (header({"w": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}), "shard-unreadable"),
        (header({"w": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}), "shard-unreadable"),
        (
            header({"w": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 8]}}),
            "tensor-size-wrong",
        ),
        (header({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}), "shard-size-wrong"),
        (
            header(
                {
                    "a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]},
                    "b": {"dtype": "U8", "shape": [8], "data_offsets": [4, 12]},
                }
            )
            + b"\0" * 12,
            "tensors-overlap",
        ),
        (header({"w": {"dtype": "Q9", "shape": [1], "data_offsets": [0, 1]}}) + b"\0", "tensor-type-unknown"),
    ],
)
def test_bad_headers_are_findings(model_folder: Path, data: bytes, code: str) -> None:
    (model_folder / "model.safetensors").write_bytes(data)
    assert code in codes(model_folder)


@pytest.mark.parametrize("text", [b"{", b"[1, 2]", b"\xff\xfe\x00", b"[" * 100_000, b""])
def test_torn_configs_are_findings(model_folder: Path, text: bytes) -> None:
    (model_folder / "config.json").write_bytes(text)
    found = codes(model_folder)
    assert Level.BLOCKER in found.values() or Level.UNKNOWN in found.values()


def test_links_that_loop_and_pipes_are_passed_over(model_folder: Path) -> None:
    (model_folder / "loop").symlink_to(model_folder)
    (model_folder / "self").symlink_to(model_folder / "self")
    os.mkfifo(model_folder / "tokenizer.json")
    found = codes(model_folder)
    assert found["file-unreadable"] is Level.WARNING


@pytest.mark.parametrize("reference", ["../../etc/passwd/x", "a/../b", "owner/na..me", "a b/c", "", "x" * 5000, "\0"])
def test_what_is_no_reference(reference: str) -> None:
    with pytest.raises((UsageError, InputError)):
        read_local(reference)


def test_a_repository_id_is_left_to_the_hub() -> None:
    assert read_local("moonshotai/Kimi-K2.6") is None


def test_an_old_or_spoiled_snapshot(model_folder: Path, tmp_path: Path) -> None:
    record = json.loads(to_json(read_folder(model_folder)))
    for change in ({"format": 99}, {"files": [{"path": "x", "size": -1}]}, {"tensors": 3}):
        path = tmp_path / "saved.json"
        path.write_text(json.dumps({**record, **change}))
        with pytest.raises(InputError):
            read_local(str(path))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
config_keys = st.sampled_from(
    [
        "num_hidden_layers", "hidden_size", "layer_types", "text_config", "model_type", "architectures",
        "num_attention_heads", "num_key_value_heads", "kv_lora_rank", "n_routed_experts", "head_dim",
        "rope_scaling", "compress_ratios", "block_configs", "hybrid_override_pattern", "moe_layer_freq",
        "vocab_size", "sliding_window", "vision_config", "dflash_config", "mlp_only_layers", "dtype",
        "layers_block_type", "linear_attn_config", "no_rope_layers", "quantization_config",
        "linear_num_key_heads",
    ]
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(config_keys, json_values, max_size=12),
    st.sampled_from(["qwen3", "llama4", "nemotron_h", "kimi_k2"]),
)
def test_no_config_is_too_strange(config: dict[str, object], model_type: str) -> None:
    document = {"model_type": model_type, **config}
    record = {
        "reference": "x", "origin": "folder", "access": {"gate": "local", "granted": True},
        "documents": [{"path": "config.json", "text": json.dumps(document)}],
    }  # fmt: skip
    snapshot = from_json(json.dumps(record).encode(), Snapshot, source="x")
    seen = understand(snapshot)
    assert from_json(to_json(seen), Checkpoint, source="x").model.layers == seen.model.layers


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | json_values.map(header))
def test_no_header_is_too_strange(data: bytes) -> None:
    with suppress(SurefootError):
        length = header_length(data[:8], source="x", file_size=len(data))
        parse_header(data[8 : 8 + length], source="x", file_size=len(data))
