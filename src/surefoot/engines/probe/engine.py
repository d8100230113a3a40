"""Every engine on this host: where it is, its versions, what it can do, and which run now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surefoot.engines.probe.environments import environments
from surefoot.engines.probe.running import running
from surefoot.engines.probe.sglang import read_sglang
from surefoot.engines.probe.vllm import read_vllm

READERS = {"sglang": read_sglang, "vllm": read_vllm}


def parts() -> list[tuple[str, Callable[[dict[str, Any]], Any], float]]:
    """The one part of the engine probe."""
    return [("engines", engines, 45.0)]


def engines(options: dict[str, Any]) -> dict[str, Any]:
    """Installed engines with their capabilities, and running ones."""
    processes = running()
    sites = [entry["site"] for entry in processes if entry["site"]]
    installed = []
    for found in environments(options, sites):
        try:
            found.update(READERS[found["kind"]](found["package"]))
        except Exception as error:  # one broken install must not hide the others
            found["unknown"] = [{"part": "everything", "reason": f"{type(error).__name__}: {error}"}]
        installed.append(found)
    return {"installed": installed, "running": processes}
