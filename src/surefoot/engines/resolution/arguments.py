"""Let SGLang resolve a command line with its own rules: resolved arguments, warnings, or what it dies of.

No weights are read and no server is started; the model's and the drafter's configuration files are. Newer
versions resolve in `resolve_once()`, older ones while they prepare the arguments.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import logging
import re
from collections.abc import Callable
from typing import Any

SECONDS = 150.0
_SECRET = re.compile(r"api_key|keyfile|password|secret|auth|(^|_)token$", re.IGNORECASE)
"""Arguments that never leave the host."""


def parts() -> list[tuple[str, Callable[[dict[str, Any]], Any], float]]:
    """The one part: `options["arguments"]` is the command line after `sglang serve`."""
    return [("resolution", resolve, SECONDS)]


def resolve(options: dict[str, Any]) -> dict[str, Any]:
    """Resolved arguments as plain values, or `error`; `warnings` in the order in which they were logged."""
    warnings: list[str] = []
    _listen(warnings)
    said = io.StringIO()
    answer: dict[str, Any] = {"arguments": None, "error": None, "how": None, "warnings": warnings}
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            answer["arguments"], answer["how"] = _resolved(list(options["arguments"]))
    except SystemExit:
        lines = said.getvalue().strip().splitlines()
        answer["error"] = lines[-1] if lines else "the engine refused the command line"
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {error}"
    return answer


def _listen(warnings: list[str]) -> None:
    """Engines replace handlers while they start, so records are taken where they are made."""
    make = logging.getLogRecordFactory()

    def factory(*args: Any, **more: Any) -> logging.LogRecord:
        record = make(*args, **more)
        if record.levelno >= logging.WARNING:
            text = record.getMessage()
            if text not in warnings:
                warnings.append(text)
        return record

    logging.setLogRecordFactory(factory)


def _resolved(arguments: list[str]) -> tuple[dict[str, Any], str]:
    from sglang.srt.server_args import prepare_server_args

    with contextlib.suppress(ImportError):
        from sglang.srt.plugins import load_plugins

        load_plugins()
    server_args = prepare_server_args(arguments)
    if hasattr(server_args, "resolve_once"):
        server_args.resolve_once()
        return _plain_items(server_args.resolved_dict()), "resolve_once"
    return _plain_items(dataclasses.asdict(server_args)), "prepare_server_args"


def _plain_items(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in values.items() if not _SECRET.search(name) or value is None}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return str(value)
