"""Ask a host what it is and which engines it has: one program, one connection, nothing left behind."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from surefoot import engines, machines
from surefoot.asking import Asked, HostError, Program, ask, build
from surefoot.engines import Engines
from surefoot.hosts.host import Host
from surefoot.machines import machine_from_parts


def program(model_folder: str | None = None, search: Sequence[str] = ()) -> Program:
    """The program that is sent: a folder whose disk matters, more folders to look for engines in."""
    options = {"model_folder": model_folder, "search": list(search)}
    return build([machines.COLLECTOR, engines.COLLECTOR], options)


def probe(asked: Asked, *, model_folder: str | None = None, search: Sequence[str] = ()) -> Host:
    """Describe a host. Raises `HostError` when it cannot be asked; parts that fail alone are unknown."""
    start = time.monotonic()
    answer = ask(program(model_folder, search), asked)
    parts = answer.get("parts")
    if not isinstance(parts, dict):
        raise HostError(f"{asked.name}: the probe's answer is damaged")
    found, reason = _engines(parts.get("engines"))
    return Host(
        machine=machine_from_parts(asked.host or "localhost", parts),
        engines=found,
        engines_unknown=reason,
        seconds=round(time.monotonic() - start, 3),
    )


def _engines(answer: Any) -> tuple[Engines | None, str | None]:
    if not isinstance(answer, dict) or "value" not in answer:
        return None, str(answer.get("unknown")) if isinstance(answer, dict) else "the probe said nothing"
    try:
        return msgspec.convert(answer["value"], Engines), None
    except msgspec.ValidationError as error:
        return None, f"the probe's answer makes no sense: {error}"
