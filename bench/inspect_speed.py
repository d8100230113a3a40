"""How long `surefoot inspect` takes: cold over a slow hub, warm from disk, and with very many tensors.

python bench/inspect_speed.py
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from safetensors.numpy import save_file

from surefoot.checkpoints.folder import read_folder

ROOT = Path(__file__).parents[1]
LATENCY = 0.1
SHARDS = 64
COMMIT = hashlib.sha1(b"bench").hexdigest()


def write_shards(folder: Path, shards: int, tensors: int) -> None:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3", "num_hidden_layers": 2}))
    weight_map = {}
    for number in range(shards):
        file = f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
        part = {f"model.layers.{number}.experts.{i}.w": np.zeros(1, np.float32) for i in range(tensors)}
        save_file(part, folder / file)
        weight_map |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 4 * shards * tensors}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


class SlowHub(ThreadingHTTPServer):
    """Serves one folder as acme/model, every answer `LATENCY` seconds late."""

    request_queue_size = 256
    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(("127.0.0.1", 0), SlowHandler)


class SlowHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SlowHub

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        time.sleep(LATENCY)
        path = urlsplit(self.path).path
        status, body = 200, b"{}"
        if path == "/api/models/acme/model":
            files = [{"rfilename": f.name, "size": f.stat().st_size} for f in self.server.folder.iterdir()]
            body = json.dumps({"sha": COMMIT, "siblings": files}).encode()
        elif "/resolve/" in path:
            body = (self.server.folder / path.rpartition("/")[2]).read_bytes()
            if wanted := self.headers.get("Range"):
                first, last = map(int, wanted.removeprefix("bytes=").split("-"))
                status, body = 206, body[first : last + 1]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def seconds(command: list[str], **env: str) -> tuple[float, float]:
    """Wall time and processor time of a process. Bytecode is cached, as in an installed package."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, env={**clean, **env}, capture_output=True, check=False)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(label: str, runs: list[tuple[float, float]]) -> None:
    """The median run, the first left out: it fills the bytecode cache."""
    wall, processor = (statistics.median(column) for column in zip(*runs[1:], strict=True))
    print(f"{label}: {1000 * wall:.0f} ms, of them {1000 * processor:.0f} ms processor time")


def main() -> None:
    inspect = [sys.executable, "-m", "surefoot", "inspect"]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        write_shards(place / "hub", SHARDS, 20)
        server = SlowHub(place / "hub")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        env = {
            "PYTHONPYCACHEPREFIX": str(place / "bytecode"),
            "HF_ENDPOINT": url,
            "HF_HOME": str(place / "home"),
        }
        cold = [seconds([*inspect, "acme/model"], **env) for _ in range(4)]
        show(f"cold, {SHARDS} shards, {1000 * LATENCY:.0f} ms a request", cold)
        snapshot = str(ROOT / "examples" / "kimi-k2.6.snapshot.json")
        for label, reference in (("folder", str(place / "hub")), ("Kimi K2.6 snapshot", snapshot)):
            show(f"warm, {label}, whole process", [seconds([*inspect, reference], **env) for _ in range(10)])
        write_shards(place / "many", 1, 10_000)
        began = time.monotonic()
        read_folder(place / "many")
        print(f"10,000 tensors in one header: {1000 * (time.monotonic() - began):.0f} ms")


if __name__ == "__main__":
    main()
