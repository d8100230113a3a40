"""The record of an installed engine: versions that matter and what its own files say it can do.

None means that it could not be learned or that the engine has no such thing; `unknown` says which.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """A model class the engine has, and whether it can hand hidden states of its layers to a drafter."""

    name: str
    module: str
    captures_hidden_states: bool


@dataclass(frozen=True)
class Quantization:
    """A quantization method and the oldest GPU it accepts, as one number (89 for 8.9)."""

    name: str
    minimum_sm: int | None = None


@dataclass(frozen=True)
class Plugin:
    """An entry point that the engine loads."""

    group: str
    name: str
    value: str


@dataclass(frozen=True)
class UnknownPart:
    """What could not be read of an engine, and why."""

    part: str
    reason: str


@dataclass(frozen=True)
class Engine:
    """An installed engine. Registered backends and the command line's choices differ; both are kept.

    `speculative_choices` is None when the command line takes any name (then `out_of_tree_algorithms`
    says whether others can register); `mla_conditional_architectures` get MLA only with some configs.
    """

    kind: str
    package: str
    version: str | None = None
    site: str | None = None
    python: str | None = None
    packages: dict[str, str] | None = None
    cuda: str | None = None
    plugins: tuple[Plugin, ...] = ()
    attention_backends: tuple[str, ...] | None = None
    attention_backend_choices: tuple[str, ...] | None = None
    draft_attention_backend_choices: tuple[str, ...] | None = None
    dflash_draft_backends: tuple[str, ...] | None = None
    architectures: tuple[Architecture, ...] | None = None
    unreadable_modules: tuple[str, ...] = ()
    speculative_algorithms: tuple[str, ...] | None = None
    speculative_choices: tuple[str, ...] | None = None
    out_of_tree_algorithms: bool | None = None
    quantization: tuple[Quantization, ...] | None = None
    quantization_choices: tuple[str, ...] | None = None
    mla_architectures: tuple[str, ...] | None = None
    mla_conditional_architectures: tuple[str, ...] | None = None
    platforms: tuple[str, ...] | None = None
    unknown: tuple[UnknownPart, ...] = ()

    def architecture(self, name: str) -> Architecture | None:
        """The model class `name`, None when the engine has none (or its models are unknown)."""
        return next((a for a in self.architectures or () if a.name == name), None)


@dataclass(frozen=True)
class RunningEngine:
    """A process that serves; only flags that cannot hold a secret are kept."""

    kind: str
    pid: int
    arguments: tuple[str, ...] = ()
    site: str | None = None


@dataclass(frozen=True)
class Engines:
    """All engines of a host."""

    installed: tuple[Engine, ...] = ()
    running: tuple[RunningEngine, ...] = ()
