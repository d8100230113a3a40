"""Ask an installed engine, in its own environment, what a command line would become or die of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from surefoot.asking import Asked, HostError, ask, build
from surefoot.engines.engine import Engine
from surefoot.errors import UnknownError

COLLECTOR = "surefoot.engines.resolution.arguments"
SECONDS = 180.0


@dataclass(frozen=True)
class Resolution:
    """What an engine made of a command line: resolved arguments, or the `error` it would have died of.

    `how` names the engine's function that resolved it; secrets are left out on the host.
    """

    package: str
    command_line: tuple[str, ...]
    arguments: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    error: str | None = None
    how: str | None = None


def resolve_arguments(
    engine: Engine, arguments: Sequence[str], *, host: str | None = None, ssh_config: Path | None = None
) -> Resolution:
    """Let `engine` resolve the `arguments` of its serve command on its own host.

    Raises:
        UnknownError: it is no SGLang, its Python is not known, or it gave no answer.
    """
    if engine.kind != "sglang":
        raise UnknownError(f"{engine.kind} cannot be asked to resolve arguments yet, only sglang can")
    if engine.python is None:
        raise UnknownError(
            f"no Python belongs to the SGLang in {engine.package}",
            remedy="install it in an environment, or name that environment with --search",
        )
    asked = Asked(host, engine.python, ssh_config)
    answer = ask(build([COLLECTOR], {"arguments": list(arguments)}), asked, seconds=SECONDS)
    part = answer.get("parts", {}).get("resolution", {})
    if "value" not in part:
        raise UnknownError(f"{asked.name}: the engine did not resolve the arguments: {part.get('unknown')}")
    value = {"package": engine.package, "command_line": list(arguments), **part["value"]}
    try:
        return msgspec.convert(value, Resolution)
    except msgspec.ValidationError as error:
        raise HostError(f"{asked.name}: the engine's answer makes no sense: {error}") from error
