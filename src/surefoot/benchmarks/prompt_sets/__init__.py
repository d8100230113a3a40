"""Prompts: the project's own sets, public sets out of the packages that ship them, or a file of the user's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from surefoot.benchmarks.answers import Prompt
from surefoot.benchmarks.prompt_sets import packages
from surefoot.benchmarks.prompt_sets.files import read_prompts

_FOLDER = Path(__file__).parent


def _own() -> tuple[Prompt, ...]:
    return read_prompts(_FOLDER / "own.jsonl")


def _wide() -> tuple[Prompt, ...]:
    return _own() + read_prompts(_FOLDER / "wide.jsonl")


SETS: dict[str, Callable[[], tuple[Prompt, ...]]] = {
    "own": _own,
    "wide": _wide,
    "humaneval": packages.humaneval,
    "gsm8k": packages.gsm8k,
    "mt-bench": packages.mt_bench,
}
"""`own` is code, maths, chat and summarising; `wide` adds tool calls, long texts and other languages."""


def load_prompts(source: str | None) -> tuple[Prompt, ...]:
    """The prompts named by `source`: a name of `SETS` (None is `own`), or the path of a file that `files` reads.

    Raises:
        InputError: the file is missing or empty, or a line is torn (the message has its number).
        MissingDependencyError: a public set was asked for and the package that ships it is not installed.
    """
    load = SETS.get("own" if source is None else source)
    return load() if load else read_prompts(Path(str(source)))
