"""The hub cache: complete, partial and torn revisions, in folders laid out as huggingface_hub does."""

import json
from pathlib import Path

import pytest

from surefoot.machines.probe.hub_cache import hub


def revision(cache: Path, repo: str, commit: str, shards: list[str], present: list[str]) -> Path:
    root = cache / f"models--{repo.replace('/', '--')}"
    snapshot = root / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (root / "blobs").mkdir(exist_ok=True)
    (root / "refs").mkdir(exist_ok=True)
    (root / "refs" / "main").write_text(commit)
    (snapshot / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {f"w{i}": shard for i, shard in enumerate(shards)}})
    )
    for shard in present:
        blob = root / "blobs" / f"{commit}-{shard}"
        blob.write_bytes(b"x" * 10)
        (snapshot / shard).symlink_to(blob)
    return root


def test_what_is_complete_and_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecret")
    revision(tmp_path, "a/whole", "c1", ["1.safetensors"], ["1.safetensors"])
    torn = revision(tmp_path, "a/torn--name", "c2", ["1.safetensors", "2.safetensors"], ["1.safetensors"])
    (torn / "blobs" / "abc.incomplete").write_bytes(b"x" * 7)
    dangling = revision(tmp_path, "b/dangling", "c3", ["1.safetensors"], ["1.safetensors"])
    (dangling / "blobs" / "c3-1.safetensors").unlink()
    found = hub({})
    models = {model["repo"]: model for model in found["models"]}
    assert models["a/whole"]["revisions"][0]["state"] == "complete"
    assert models["a/whole"]["revisions"][0]["refs"] == ["main"]
    assert models["a/torn--name"]["revisions"][0]["missing"] == ["2.safetensors"]
    assert models["a/torn--name"]["partial_bytes"] == 7
    assert models["b/dangling"]["revisions"][0]["state"] == "partial"
    assert found["token_source"] == "HF_TOKEN"
    assert "hf_secretsecret" not in json.dumps(found)


def test_no_cache_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "nowhere"))
    for name in ("HF_HUB_CACHE", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    assert hub({}) == {"path": str(tmp_path / "nowhere" / "hub"), "models": [], "token_source": None}
