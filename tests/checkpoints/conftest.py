"""Real parts for these tests: folders with safetensors files, and a hub on loopback with real HTTP."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import pytest
from safetensors.numpy import save_file

COMMIT = "c0ffee" + "0" * 34
CONFIGS = Path(__file__).parent / "configs"

TINY: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 2, "hidden_size": 16,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "intermediate_size": 32,
    "vocab_size": 64, "max_position_embeddings": 128, "tie_word_embeddings": False, "torch_dtype": "float32",
}  # fmt: skip


def tiny_tensors() -> dict[str, np.ndarray]:
    shapes = {"model.embed_tokens.weight": (64, 16), "lm_head.weight": (64, 16), "model.norm.weight": (16,)}
    for layer in range(2):
        for name, shape in {
            "self_attn.q_proj": (16, 16), "self_attn.k_proj": (8, 16), "self_attn.v_proj": (8, 16),
            "self_attn.o_proj": (16, 16), "mlp.gate_proj": (32, 16), "mlp.up_proj": (32, 16),
            "mlp.down_proj": (16, 32), "input_layernorm": (16,), "post_attention_layernorm": (16,),
        }.items():  # fmt: skip
            shapes[f"model.layers.{layer}.{name}.weight"] = shape
    return {name: np.zeros(shape, dtype=np.float32) for name, shape in shapes.items()}


def write_model(folder: Path, shards: int = 1, config: dict[str, Any] | None = None) -> Path:
    """A tiny Qwen3 in `shards` shards with an index."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config or TINY))
    tensors = tiny_tensors()
    names = sorted(tensors)
    weight_map, total = {}, 0
    for number in range(shards):
        part = {name: tensors[name] for name in names[number::shards]}
        file = "model.safetensors" if shards == 1 else f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
        if not part:
            part = {f"model.extra.{number}": np.zeros(1, dtype=np.float32)}
        save_file(part, folder / file)
        weight_map |= dict.fromkeys(part, file)
        total += sum(array.nbytes for array in part.values())
    if shards > 1:
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


@pytest.fixture
def make_model() -> Callable[..., Path]:
    return write_model


@dataclass
class Repository:
    """How the hub treats one repository. `fault(path)` may name a way to fail for a file."""

    folder: Path
    gated: str | bool = False
    private: bool = False
    disabled: bool = False
    allowed: set[str] = field(default_factory=set)
    denial: str = "Access to model is restricted and you are not in the authorized list."
    fault: Callable[[str], str | None] = lambda path: None


class Hub:
    """A hub on loopback. `requests` keeps (path, headers) of all that was asked."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.tokens: set[str] = {"hf_good"}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.failures: dict[str, int] = {}
        self.latency = 0.0
        self.elsewhere = ""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def _handler(hub) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                if self.path.startswith("/api/agent-harnesses"):
                    self.error(404, None, "Not found")
                    return
                hub.requests.append((self.path, {key.lower(): self.headers[key] for key in self.headers}))
                time.sleep(hub.latency)
                token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
                parts = urlsplit(self.path)
                path = unquote(parts.path)
                if token and token not in hub.tokens:
                    self.error(401, None, "Invalid credentials in Authorization header")
                    return
                if path.startswith("/api/models/"):
                    self.api(path.removeprefix("/api/models/"), parse_qs(parts.query), token)
                    return
                self.resolve(path, token)
                return

            def error(self, status: int, code: str | None, message: str, **headers: str) -> None:
                extra = {"X-Error-Message": message, **headers} | ({"X-Error-Code": code} if code else {})
                self.answer(status, json.dumps({"error": message}).encode(), extra)

            def answer(self, status: int, body: bytes, headers: dict[str, str], length: int | None = None) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                with suppress(ConnectionError):  # the client may have given up
                    self.end_headers()
                    self.wfile.write(body)

            def find(self, name: str, token: str) -> Repository | None:
                repository = hub.repositories.get(name)
                if repository is None or (repository.private and token not in repository.allowed):
                    status = 404 if token else 401
                    self.error(status, "RepoNotFound", "Repository not found")
                    return None
                return repository

            def barred(self, repository: Repository, token: str) -> bool:
                if repository.disabled:
                    self.error(403, None, "Access to this resource is disabled.")
                    return True
                if repository.gated and token not in repository.allowed:
                    self.error(403 if token else 401, "GatedRepo", repository.denial)
                    return True
                return False

            def api(self, path: str, query: dict[str, list[str]], token: str) -> None:
                name = "/".join(path.split("/")[:2])
                rest = path[len(name) :]
                repository = self.find(name, token)
                if repository is None:
                    return
                if rest == "/auth-check":
                    if not self.barred(repository, token):
                        self.answer(200, b"{}", {})
                    return
                if rest.startswith("/revision/") and rest.removeprefix("/revision/") not in ("main", COMMIT):
                    self.error(404, "RevisionNotFound", "Invalid rev id")
                    return
                if self.fail("/info", repository):
                    return
                siblings = []
                for file in sorted(repository.folder.rglob("*")):
                    if file.is_file():
                        data = file.read_bytes()
                        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
                        shown = file.relative_to(repository.folder).as_posix()
                        siblings.append({"rfilename": shown, "size": len(data), "blobId": blob})
                info = {
                    "id": name, "sha": COMMIT, "siblings": siblings, "gated": repository.gated,
                    "private": repository.private, "disabled": repository.disabled,
                }  # fmt: skip
                self.answer(200, json.dumps(info).encode(), {"Content-Type": "application/json"})

            def fail(self, path: str, repository: Repository) -> bool:
                fault = repository.fault(path)
                if fault is None:
                    return False
                if fault.endswith("-once"):
                    hub.failures[path] = hub.failures.get(path, 0) + 1
                    if hub.failures[path] > 1:
                        return False
                    fault = fault.removesuffix("-once")
                if fault == "429":
                    self.error(429, None, "Too many requests", **{"Retry-After": "0"})
                elif fault == "500":
                    self.error(500, None, "Internal error")
                elif fault == "truncated":
                    self.answer(200, b'{"a": ', {}, length=1000)
                    self.close_connection = True
                else:
                    return False
                return True

            def resolve(self, path: str, token: str) -> None:
                owner, model, _, _, *file = path.lstrip("/").split("/")
                repository = self.find(f"{owner}/{model}", token)
                if repository is None or self.barred(repository, token):
                    return
                name = "/".join(file)
                fault = repository.fault(name)
                if fault == "redirect":
                    self.answer(302, b"", {"Location": f"{hub.elsewhere}{self.path}"})
                    return
                if self.fail(name, repository):
                    return
                target = repository.folder / name
                if not target.is_file():
                    self.error(404, "EntryNotFound", "Entry not found")
                    return
                data = target.read_bytes()
                wanted = self.headers.get("Range")
                if wanted and fault != "no-range":
                    first, last = wanted.removeprefix("bytes=").split("-")
                    part = data[int(first) : int(last) + 1]
                    length = len(part) + 7 if fault == "wrong-length" else None
                    shown = f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"
                    self.answer(206, part, {"Content-Range": shown}, length)
                    self.close_connection = fault == "wrong-length"
                    return
                self.answer(200, data, {"X-Repo-Commit": COMMIT, "ETag": "x"})

        return Handler


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A fresh hub that `huggingface_hub` talks to, without a token."""
    from huggingface_hub import constants
    from huggingface_hub.utils import close_session

    from surefoot.checkpoints import hub_requests

    server = Hub()
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setattr(hub_requests, "BACKOFF", 0.01)
    monkeypatch.setattr(hub_requests, "TIMEOUT", 3.0)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    close_session()
    yield server
    close_session()
    server.close()
