"""Engines that run on this host now: which, with which of the flags that cannot hold a secret."""

from __future__ import annotations

import os
import re
from glob import glob
from typing import Any

from surefoot.asking.commands import read

FLAGS = (
    "--model", "--model-path", "--served-model-name", "--port", "--host", "--tp", "--tp-size",
    "--tensor-parallel-size", "--attention-backend", "--quantization", "--kv-cache-dtype", "--page-size",
    "--mem-fraction-static", "--gpu-memory-utilization", "--context-length", "--max-model-len",
    "--max-running-requests", "--speculative-algorithm", "--speculative-draft-model-path",
    "--speculative-num-draft-tokens", "--speculative-dflash-block-size",
)  # fmt: skip
"""The only flags whose values leave the host: an API key on a command line stays there."""

_ENGINE = re.compile(r"(?:^|[/ ])(sglang|vllm)(?:[ ./:]|$)")


def running() -> list[dict[str, Any]]:
    """One entry for each process that was started as an engine's server."""
    found = []
    for path in glob("/proc/[0-9]*"):
        words = [word for word in (read(path + "/cmdline") or "").split("\0") if word]
        kind = _kind(words)
        if kind:
            found.append(
                {
                    "kind": kind,
                    "pid": int(os.path.basename(path)),
                    "arguments": _arguments(words),
                    "site": _mapped_site(path),
                }
            )
    return sorted(found, key=lambda entry: int(entry["pid"]))


def _kind(words: list[str]) -> str | None:
    """`python -m sglang.launch_server`, `sglang serve`, `vllm serve`, and what their processes rename to."""
    if not words:
        return None
    if "-m" in words[:-1]:
        started = words[words.index("-m") + 1]
    elif len(words) > 1 and re.search(r"python[\d.]*$", words[0]):
        started = " ".join(words[1:3])
    else:
        started = " ".join(words[:2])
    match = _ENGINE.search(started)
    serving = re.search(r"launch_server|api_server|\bserve\b|::", started)
    return match.group(1) if match and serving else None


def _arguments(words: list[str]) -> list[str]:
    kept = []
    for index, word in enumerate(words):
        flag, equals, _ = word.partition("=")
        if flag in FLAGS:
            kept.append(word)
            if not equals and index + 1 < len(words):
                kept.append(words[index + 1])
        elif index and words[index - 1] == "serve" and not word.startswith("-"):
            kept.append(word)
    return kept


def _mapped_site(path: str) -> str | None:
    """The site folder that the process has loaded libraries from; only its owner and root may see that."""
    match = re.search(r"(/\S+/(?:site|dist)-packages)/", read(path + "/maps", 1 << 22) or "")
    return match.group(1) if match else None
