"""Prompts out of a file: JSON lines or a JSON list, in the shapes that people have lying about.

A record is our own (`text` or `prompt`, and optionally `id`, `set`, `chat`), an OpenAI request (`messages`, alone or as
the `body` of a batch line or of a logged request), or a ShareGPT conversation. Of a conversation the first user turn
is taken, as later ones answer a model that is not here. Secrets in it are cut out (`secrets.py`).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from surefoot.benchmarks.answers import Prompt
from surefoot.benchmarks.prompt_sets.secrets import without_secrets
from surefoot.errors import InputError


class _Part(msgspec.Struct):
    type: str = "text"
    text: str = ""


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Part] | None = None


class _Turn(msgspec.Struct):
    speaker: str = msgspec.field(name="from")
    value: str = ""


class _Body(msgspec.Struct):
    messages: list[_Message] = []
    prompt: str | None = None


class _Record(msgspec.Struct):
    text: str | None = None
    prompt: str | None = None
    messages: list[_Message] = []
    conversations: list[_Turn] = []
    body: _Body | None = None
    id: str | int | None = None
    custom_id: str | None = None
    task_id: str | None = None
    question_id: int | None = None
    turns: list[str] = []
    set: str = "prompts"
    chat: bool = True


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """The prompts of a file. Raises `InputError` when it cannot be read, is empty, or a record is torn."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot read the prompts in {path}: {error.strerror}", remedy="name a JSONL file or a known set"
        ) from error
    return parse_prompts(data, str(path))


def parse_prompts(data: bytes, source: str) -> tuple[Prompt, ...]:
    """The prompts in `data`, whose name in messages is `source`. Raises `InputError`."""
    prompts: dict[str, Prompt] = {}
    for place, record in _records(data, source):
        text = _text(record)
        if not text or not text.strip():
            raise InputError(f"{source}, {place}: no text", remedy="give the prompt as `text` or `prompt`")
        given = (record.id, record.custom_id, record.task_id, record.question_id)
        name = next((str(name) for name in given if name is not None), place.replace(" ", "-"))
        if name in prompts:
            raise InputError(f"{source}, {place}: the id {name!r} was used before")
        prompts[name] = Prompt(name, record.set, without_secrets(text), record.chat and not _completes(record))
    if not prompts:
        raise InputError(f"{source} holds no prompts")
    return tuple(prompts.values())


def _records(data: bytes, source: str) -> list[tuple[str, _Record]]:
    """Each record with where it stands."""
    if data.lstrip().startswith(b"["):
        return [(f"entry {n}", _decode(raw, f"{source}, entry {n}")) for n, raw in enumerate(_entries(data, source), 1)]
    return [
        (f"line {number}", _decode(line, f"{source}, line {number}"))
        for number, line in enumerate(data.splitlines(), 1)
        if line.strip()
    ]


def _entries(data: bytes, source: str) -> list[msgspec.Raw]:
    try:
        return msgspec.json.decode(data, type=list[msgspec.Raw])
    except msgspec.DecodeError as error:
        raise InputError(f"{source} is torn: {error}") from error


def _decode(data: bytes | msgspec.Raw, place: str) -> _Record:
    try:
        return msgspec.json.decode(data, type=_Record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: {error}", remedy='each record is an object like {"text": "..."}') from error


def _text(record: _Record) -> str | None:
    """The prompt of a record, or None."""
    body = record.body or _Body()
    if (text := record.text if record.text is not None else record.prompt) is not None:
        return text
    for message in record.messages or body.messages:
        if message.role == "user":
            parts = [message.content] if isinstance(message.content, str) else [p.text for p in message.content or ()]
            return "\n".join(part for part in parts if part)
    for turn in record.conversations:
        if turn.speaker in ("human", "user"):
            return turn.value
    return record.turns[0] if record.turns else body.prompt


def _completes(record: _Record) -> bool:
    """Whether it is a logged completion request, whose text is not to be wrapped as a user's turn."""
    return record.body is not None and not record.body.messages and record.body.prompt is not None
