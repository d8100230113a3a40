"""Ask a host what it is and which engines it has: one program, one connection, nothing left behind."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from surefoot import engines, machines
from surefoot.asking import Asked, HostError, Program, ask, build
from surefoot.engines import Engines
from surefoot.errors import UnknownError
from surefoot.hosts.host import Host
from surefoot.machines import machine_from_parts


def program(model_folder: str | None = None, search: Sequence[str] = ()) -> Program:
    """The program that is sent: a folder whose disk matters, more folders to look for engines in."""
    options = {"model_folder": model_folder, "search": list(search)}
    return build([machines.COLLECTOR, engines.COLLECTOR], options)


def probe(asked: Asked, *, model_folder: str | None = None, search: Sequence[str] = ()) -> Host:
    """Describe a host. Raises `HostError` when it cannot be asked; parts that fail alone are unknown."""
    start = time.monotonic()
    found = host_from_answer(asked.host or "localhost", ask(program(model_folder, search), asked))
    return replace(found, seconds=round(time.monotonic() - start, 3))


def host_from_answer(name: str, answer: dict[str, Any]) -> Host:
    """The host that a probe's answer describes. Raises `HostError` when it holds no parts."""
    parts = answer.get("parts")
    if not isinstance(parts, dict):
        raise HostError(f"{name}: the probe's answer is damaged")
    found, reason = _engines(parts.get("engines"))
    return Host(machine=machine_from_parts(name, parts), engines=found, engines_unknown=reason)


def ask_engines(found: Host, arguments: Sequence[str], asked: Asked) -> Host:
    """Add what every SGLang of a probed host makes of the `arguments` of its serve command.

    Raises `UnknownError` when there is none that can be asked.
    """
    installed = [e for e in found.engines.installed if e.kind == "sglang"] if found.engines else []
    askable = [engine for engine in installed if engine.python is not None] or installed
    if not askable:
        raise UnknownError(f"no SGLang was found on {asked.name}", remedy="name its environment's folder with --search")
    answers = [engines.resolve_arguments(e, arguments, host=asked.host, ssh_config=asked.ssh_config) for e in askable]
    return replace(found, resolutions=tuple(answers))


def _engines(answer: Any) -> tuple[Engines | None, str | None]:
    if not isinstance(answer, dict) or "value" not in answer:
        return None, str(answer.get("unknown")) if isinstance(answer, dict) else "the probe said nothing"
    try:
        return msgspec.convert(answer["value"], Engines), None
    except msgspec.ValidationError as error:
        return None, f"the probe's answer makes no sense: {error}"
