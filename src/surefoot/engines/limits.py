"""Known limits that an engine does not check: rules as data (`limits.toml`), judged for one situation.

A rule whose conditions all hold becomes a finding; one whose conditions cannot all be told becomes an
unknown; for an engine version that no rule was read in, a warning says just that.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files

import msgspec

from surefoot.errors import InputError
from surefoot.evidence import Fact, Finding, Level, Method


@dataclass(frozen=True)
class Range:
    """Whole numbers from `min` to `max`, both included; None is open."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True)
class Proof:
    """What was read: `file` of `package` holds a text, or does not."""

    package: str
    file: str
    contains: str | None = None
    lacks: str | None = None


@dataclass(frozen=True)
class Limit:
    """One rule. `when` maps fields of `Situation` to a truth value, allowed words or a range."""

    code: str
    engine: str
    since: str
    until: str
    level: Level
    when: dict[str, bool | tuple[str, ...] | Range]
    message: str
    proof: tuple[Proof, ...]
    remedy: str | None = None

    def covers(self, version: str) -> bool:
        """Whether the rule was read in versions around this one."""
        return _order(self.since) <= _order(version) <= _order(self.until)


@dataclass(frozen=True)
class Situation:
    """What is about to be launched; None is not known. `sm` is one number, 120 for 12.0.

    `attention_backend` is the one that verifies; `strategy` is `plain`, `dflash` or `ddtree`.
    """

    strategy: str | None = None
    attention_backend: str | None = None
    split_attention: bool | None = None
    sm: int | None = None
    mla: bool | None = None
    recurrent: bool | None = None
    captures_hidden_states: bool | None = None
    kv_cache_dtype: str | None = None
    pipeline_parallel: int | None = None
    dp_attention: bool | None = None
    simulated_acceptance: bool | None = None


@cache
def known_limits() -> tuple[Limit, ...]:
    """All rules. Raises `InputError` when the rule file is damaged."""
    text = (files("surefoot.engines") / "limits.toml").read_text(encoding="utf-8")
    try:
        limits = msgspec.convert(tomllib.loads(text)["limit"], tuple[Limit, ...])
    except (KeyError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"limits.toml is damaged: {error}") from error
    known = {field.name for field in fields(Situation)}
    for limit in limits:
        if not set(limit.when) <= known:
            raise InputError(f"limits.toml: {limit.code} asks for {sorted(set(limit.when) - known)}")
    return limits


def judge_limits(engine: str, version: str | None, situation: Situation) -> tuple[Finding, ...]:
    """The findings of all rules for this engine and version."""
    if version is None:
        return (Finding(Level.UNKNOWN, "engine-version", f"the version of {engine} is unknown"),)
    rules = [limit for limit in known_limits() if limit.engine == engine]
    if not any(limit.covers(version) for limit in rules):
        message = f"no known limits were read in {engine} {version}: nothing is claimed about it"
        return (Finding(Level.WARNING, "limits-not-read", message),)
    found = []
    for limit in rules:
        if not limit.covers(version):
            continue
        answers = {name: _holds(wanted, getattr(situation, name)) for name, wanted in limit.when.items()}
        if False in answers.values():
            continue
        unknown = sorted(name for name, answer in answers.items() if answer is None)
        if unknown:
            message = f"whether this applies depends on {' and '.join(unknown)}: {limit.message}"
            found.append(Finding(Level.UNKNOWN, limit.code, message, _evidence(limit), limit.remedy))
        else:
            found.append(Finding(limit.level, limit.code, limit.message, _evidence(limit), limit.remedy))
    return tuple(found)


def _holds(wanted: bool | tuple[str, ...] | Range, value: str | int | bool | None) -> bool | None:
    if value is None:
        return None
    if isinstance(wanted, Range):
        assert isinstance(value, int)
        return (wanted.min is None or wanted.min <= value) and (wanted.max is None or value <= wanted.max)
    return value == wanted if isinstance(wanted, bool) else value in wanted


def _evidence(limit: Limit) -> tuple[Fact, ...]:
    return tuple(
        Fact("contains" if p.contains else "lacks", p.contains or p.lacks, f"{p.package} {p.file}", Method.READ)
        for p in limit.proof
    )


def _order(version: str) -> tuple[int, ...]:
    """The release numbers of a version: 0.5.11.post1+cu130 counts as 0.5.11."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(word) for word in match.group().split(".")) if match else ()
