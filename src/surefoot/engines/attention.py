"""Which attention backend works: registered, choosable on the command line, and able here are three facts.

The abilities are data (`attention.toml`) with the versions they were read in.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec

from surefoot.engines.engine import Engine
from surefoot.errors import InputError

OTHER_HARDWARE = frozenset({"aiter", "ascend", "intel_amx", "intel_xpu", "wave"})
"""Backends of other vendors' hardware."""

MODEL_OWN = frozenset(
    {"dsa", "nsa", "dsv4", "qsa", "compressed", "minicpm_flashattn", "minicpm_flashinfer", "llada2_cfg_flashinfer"}
)  # fmt: skip
"""Backends that one family of models brings along."""


@dataclass(frozen=True)
class Ability:
    """One row: for this kind of attention (`mla` or `mha`) on these GPUs. `why` is what limits it."""

    name: str
    attention: tuple[str, ...]
    sm: tuple[tuple[int, int], ...]
    chain: bool
    tree: tuple[str, ...]
    why: str = ""
    kernel: bool = False
    tree_needs_topk: bool = False


@dataclass(frozen=True)
class Abilities:
    """The table, where it was read, and in which versions."""

    source: str
    since: str
    until: str
    backend: tuple[Ability, ...]


@dataclass(frozen=True)
class Candidate:
    """A backend held against one case. `works` None: nobody read whether it does; `reason` says why not."""

    name: str
    registered: bool
    choosable: bool
    works: bool | None
    reason: str = ""


@cache
def abilities() -> Abilities:
    """The table. Raises `InputError` when it is damaged."""
    text = (files("surefoot.engines") / "attention.toml").read_text(encoding="utf-8")
    try:
        return msgspec.convert(tomllib.loads(text), Abilities)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"attention.toml is damaged: {error}") from error


def candidates(engine: Engine, *, mla: bool, sm: int, strategy: str) -> tuple[Candidate, ...]:
    """Every backend of an SGLang, held against attention kind, GPU and strategy (`plain`, `dflash`, `ddtree`)."""
    registered = engine.attention_backends or ()
    choosable = engine.attention_backend_choices or registered
    found = []
    for name in dict.fromkeys((*registered, *choosable)):
        if name in OTHER_HARDWARE or name in MODEL_OWN:
            continue
        works, reason = _judge(name, "mla" if mla else "mha", sm, strategy)
        found.append(Candidate(name, name in registered, name in choosable, works, reason))
    return tuple(found)


def default_backend(*, mla: bool, sm: int, sinks: bool = False, deepseek_family: bool = False) -> str:
    """What SGLang takes when no backend is named (`_get_default_attn_backend`, `model_override_base.py`)."""
    if 90 <= sm < 100:
        return "fa3"
    if 100 <= sm < 110:
        if not mla:
            return "trtllm_mha"
        return "trtllm_mla" if deepseek_family else "flashinfer"
    if mla:
        return "triton"
    return "triton" if sinks else "flashinfer"


def _judge(name: str, kind: str, sm: int, strategy: str) -> tuple[bool | None, str]:
    rows = [row for row in abilities().backend if row.name == name]
    if not rows:
        return None, "nobody read what it can do"
    serving = [row for row in rows if kind in row.attention]
    if not serving:
        return False, f"serves {'MHA and GQA' if kind == 'mla' else 'MLA'} only"
    row = serving[0]
    if not any(low <= sm <= high for low, high in row.sm):
        return False, row.why or f"not for SM{sm}"
    if strategy == "dflash" and not row.chain:
        return False, row.why
    if strategy == "ddtree" and (kind not in row.tree or row.tree_needs_topk):
        return False, row.why or "reads no tree mask"
    if row.kernel:
        return None, "only its kernel package decides, which was not asked"
    return True, ""
