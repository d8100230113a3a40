"""Collect every part of a description at once, each in a process of its own with its own time limit.

A part that hangs, crashes or raises is `unknown` with its reason; the others are not touched by it. A
crash inside a vendor's library (NVML is loaded into the process) takes only that part's process down.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any


def collect(
    parts: list[tuple[str, Callable[[dict[str, Any]], Any], float]], options: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Run `(name, collector, seconds)` parts side by side: name -> {"value" or "unknown", "seconds"}."""
    start = time.monotonic()
    running: dict[int, tuple[str, int, float, list[bytes]]] = {}
    answers: dict[str, dict[str, Any]] = {}
    for name, collector, seconds in parts:
        pid, pipe = _start(collector, options)
        running[pipe] = (name, pid, start + seconds, [])
    while running:
        nearest = min(deadline for _, _, deadline, _ in running.values())
        ready, _, _ = select.select(list(running), [], [], max(0.0, nearest - time.monotonic()))
        now = time.monotonic()
        for pipe in list(running):
            name, pid, deadline, chunks = running[pipe]
            if pipe in ready:
                chunk = os.read(pipe, 1 << 16)
                if chunk:
                    chunks.append(chunk)
                    continue
                answer = _answer(b"".join(chunks), _wait(pid))
            elif now >= deadline:
                answer = {"unknown": f"took longer than {deadline - start:g} s"}
            else:
                continue
            _kill(pid)
            os.close(pipe)
            del running[pipe]
            answers[name] = dict(answer, seconds=round(now - start, 3))
    return {name: answers[name] for name, _, _ in parts}


def _start(collector: Callable[[dict[str, Any]], Any], options: dict[str, Any]) -> tuple[int, int]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    os.setsid()
    os.close(reader)
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    try:
        reply = {"value": collector(options)}
    except BaseException as error:
        reply = {"unknown": str(error) or type(error).__name__}
        if type(error).__name__ != "Unlearned":
            reply = {"unknown": f"{type(error).__name__}: {error}"}
    data = json.dumps(reply).encode("ascii")
    while data:
        data = data[os.write(writer, data) :]
    os._exit(0)


def _answer(data: bytes, status: int) -> dict[str, Any]:
    if os.WIFSIGNALED(status):
        return {"unknown": f"crashed with signal {os.WTERMSIG(status)}"}
    try:
        answer: dict[str, Any] = json.loads(data.decode("ascii"))
    except ValueError:
        return {"unknown": "ended without an answer"}
    return answer


def _wait(pid: int) -> int:
    return os.waitpid(pid, 0)[1]


def _kill(pid: int) -> None:
    """End the part's whole process group; a part stuck in the kernel is left to it, never waited for."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.waitpid(pid, os.WNOHANG)
