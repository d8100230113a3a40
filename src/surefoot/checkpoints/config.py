"""config.json as it stands: where the text model is nested, and at which path each value was read.

Configs come from strangers, so every value is checked for its type and size before it is believed; what does
not hold becomes a finding and the value stays unknown.
"""

from __future__ import annotations

import json
from typing import Any

from surefoot.errors import InputError
from surefoot.evidence import Fact, Finding, Level, Method, Scalar

Json = dict[str, Any]

TEXT_PATHS = ("thinker_config.text_config", "llm_config", "language_config", "text_config", "thinker_config")
"""Where wrappers keep the text model, in the order engines look (SGLang 0.5.x, `get_hf_text_config`)."""

MARKS = ("num_hidden_layers", "hidden_size", "num_attention_heads", "layers_block_type", "n_layer")
"""A nested object is a text model when it holds one of these."""

MAX_INTEGER = 2**40
MAX_LAYERS = 4096


def parse_object(text: str, *, source: str) -> Json:
    """The JSON object in `text`. Raises `InputError` when it is torn, too deep, or another kind of value."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{source} holds a {type(value).__name__}, not an object")
    return value


def lookup(document: Json, path: str) -> Any:
    """The value at a dotted path, None where there is none."""
    value: Any = document
    for part in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


class ConfigReader:
    """Reads a config from the text model outwards and keeps account of every value it hands out."""

    def __init__(self, document: Json, file: str = "config.json") -> None:
        self.document = document
        self.file = file
        self.levels: list[tuple[str, Json]] = [("", document)]
        self.facts: list[Fact] = []
        self.findings: list[Finding] = []
        while (nested := self._nested()) is not None:
            self.levels.insert(0, nested)

    def _nested(self) -> tuple[str, Json] | None:
        if len(self.levels) > 3:
            return None
        outer, document = self.levels[0]
        for path in TEXT_PATHS:
            value = lookup(document, path)
            if isinstance(value, dict) and any(mark in value for mark in MARKS):
                return (f"{outer}.{path}".strip("."), value)
        return None

    @property
    def text_path(self) -> str:
        """Dotted path of the text model, empty when the config is flat."""
        return self.levels[0][0]

    def find(self, *keys: str) -> tuple[Any, str] | None:
        """The first value that is not null under one of `keys` (dotted), text model first, and its path."""
        for prefix, level in self.levels:
            for key in keys:
                value = lookup(level, key)
                if value is not None:
                    return value, f"{prefix}.{key}".strip(".")
        return None

    def source(self, path: str) -> str:
        return f"{self.file}: {path}"

    def note(self, name: str, value: Scalar, source: str, method: Method = Method.READ) -> None:
        """Record where `name` comes from."""
        self.facts.append(Fact(name, value, source, method))

    def integer(
        self, name: str, *keys: str, minimum: int = 1, maximum: int = MAX_INTEGER, odd: bool = True
    ) -> int | None:
        """A whole number in `minimum`..`maximum` under one of `keys` (default: `name`).

        With `odd` false, a value of another kind is passed over in silence (some keys hold lists at times).
        """
        found = self.find(*(keys or (name,)))
        if found is None:
            return None
        value, path = found
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            if odd and value != 0:
                self._odd(name, value, path, f"a whole number from {minimum} to {maximum}")
            return None
        self.note(name, value, self.source(path))
        return value

    def number(self, name: str, *keys: str) -> float | None:
        """A finite number under one of `keys`."""
        found = self.find(*(keys or (name,)))
        if found is None:
            return None
        value, path = found
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
            self._odd(name, value, path, "a finite number")
            return None
        self.note(name, value, self.source(path))
        return float(value)

    def boolean(self, name: str, *keys: str) -> bool | None:
        """True or false under one of `keys`."""
        found = self.find(*(keys or (name,)))
        if found is None:
            return None
        value, path = found
        if not isinstance(value, bool):
            self._odd(name, value, path, "true or false")
            return None
        self.note(name, value, self.source(path))
        return value

    def text(self, name: str, *keys: str) -> str | None:
        """A string under one of `keys`."""
        found = self.find(*(keys or (name,)))
        if found is None:
            return None
        value, path = found
        if not isinstance(value, str):
            self._odd(name, value, path, "a string")
            return None
        self.note(name, value, self.source(path))
        return value

    def sequence(self, name: str, *keys: str) -> list[Any] | None:
        """A list under one of `keys`, of at most a few thousand entries."""
        found = self.find(*(keys or (name,)))
        if found is None or not isinstance(found[0], list) or not 0 < len(found[0]) <= MAX_LAYERS:
            return None
        self.note(name, f"{len(found[0])} entries", self.source(found[1]))
        return found[0]

    def _odd(self, name: str, value: Any, path: str, wanted: str) -> None:
        shown = repr(value)[:60]
        fact = Fact(name, shown, self.source(path))
        message = f"{path} is {shown}, not {wanted}; {name} stays unknown"
        self.findings.append(Finding(Level.WARNING, "config-value-odd", message, (fact,)))
