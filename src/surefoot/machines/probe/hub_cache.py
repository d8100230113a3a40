"""What the Hugging Face cache of this host holds: models, revisions, complete or partial; token or none."""

from __future__ import annotations

import json
import os
from typing import Any

from surefoot.asking.commands import read
from surefoot.machines.probe.storage import hub_folder, hub_home

INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt")


def hub(options: dict[str, Any]) -> dict[str, Any]:
    """The cache folder, its models, and whether (never which) a token is there."""
    folder = hub_folder()
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    models = [_model(folder, name) for name in names if name.startswith("models--")]
    return {"path": folder, "models": models, "token_source": _token_source()}


def _token_source() -> str | None:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if os.environ.get(name):
            return name
    path = os.environ.get("HF_TOKEN_PATH") or os.path.join(hub_home(), "token")
    return path if read(path) else None


def _model(folder: str, name: str) -> dict[str, Any]:
    root = os.path.join(folder, name)
    blobs = os.path.join(root, "blobs")
    partial = _names(blobs, ".incomplete")
    refs: dict[str, list[str]] = {}
    for where, _, files in os.walk(os.path.join(root, "refs")):
        for file in files:
            path = os.path.join(where, file)
            refs.setdefault(read(path) or "", []).append(os.path.relpath(path, os.path.join(root, "refs")))
    snapshots = os.path.join(root, "snapshots")
    return {
        "repo": name[len("models--") :].replace("--", "/", 1),
        "partial_files": len(partial),
        "partial_bytes": sum(_size(os.path.join(blobs, file)) for file in partial),
        "revisions": [
            dict(_snapshot(os.path.join(snapshots, commit)), commit=commit, refs=sorted(refs.get(commit, [])))
            for commit in _names(snapshots)
        ],
    }


def _snapshot(path: str) -> dict[str, Any]:
    """Bytes and state of one revision; the index of its weights, if any, says what must be there."""
    sizes = {}
    for where, _, files in os.walk(path):
        for file in files:
            full = os.path.join(where, file)
            if os.path.exists(full):
                sizes[os.path.relpath(full, path)] = _size(full)
    expected: set[str] = set()
    for index in INDEXES:
        if index in sizes:
            try:
                expected |= set(json.loads(read(os.path.join(path, index), 1 << 28) or "")["weight_map"].values())
            except (ValueError, KeyError, AttributeError):
                return {"bytes": sum(sizes.values()), "state": "unknown", "missing": [index]}
    missing = sorted(expected - set(sizes))
    weights = any(name.endswith(WEIGHTS) for name in sizes)
    state = "partial" if missing else "complete" if weights else "no weights"
    return {"bytes": sum(sizes.values()), "state": state, "missing": missing}


def _names(folder: str, suffix: str = "") -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(suffix))
    except OSError:
        return []


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
