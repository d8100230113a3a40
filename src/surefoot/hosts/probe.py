"""Ask a host what it is and which engines it has: one program, one connection, nothing left behind."""

from __future__ import annotations

import time

from surefoot.asking import Asked, HostError, Program, ask, build
from surefoot.hosts.host import Host
from surefoot.machines import COLLECTOR, machine_from_parts


def program(model_folder: str | None = None) -> Program:
    """The program that is sent, with an extra folder whose disk matters."""
    return build([COLLECTOR], {"model_folder": model_folder})


def probe(asked: Asked, *, model_folder: str | None = None) -> Host:
    """Describe a host. Raises `HostError` when it cannot be asked; parts that fail alone are unknown."""
    start = time.monotonic()
    answer = ask(program(model_folder), asked)
    parts = answer.get("parts")
    if not isinstance(parts, dict):
        raise HostError(f"{asked.name}: the probe's answer is damaged")
    return Host(
        machine=machine_from_parts(asked.host or "localhost", parts),
        seconds=round(time.monotonic() - start, 3),
    )
