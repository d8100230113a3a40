"""Tokenizer identity: which files it is made of, and the token ids that are taken."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.checkpoints.config import Json
from surefoot.checkpoints.snapshot import Snapshot, StoredFile

FILES = ("tokenizer.json", "tokenizer.model", "tiktoken.model", "vocab.json", "merges.txt", "tekken.json")


@dataclass(frozen=True)
class TakenToken:
    """A token id with a meaning: added tokens and the ids of begin, end and padding."""

    id: int
    content: str


@dataclass(frozen=True)
class Tokenizer:
    """`files` with their digests, and the ids that the configs name. `complete`: the added tokens are
    known, so that an id without a name is free or an ordinary token."""

    files: tuple[StoredFile, ...]
    taken: tuple[TakenToken, ...]
    complete: bool = False


def read_tokenizer(snapshot: Snapshot, documents: dict[str, Json]) -> Tokenizer:
    """The tokenizer of a snapshot, as far as its small files tell."""
    files = tuple(file for file in snapshot.files if file.path in FILES)
    taken: dict[int, str] = {}
    added = documents.get("tokenizer_config.json", {}).get("added_tokens_decoder")
    for key, entry in list(added.items())[:100_000] if isinstance(added, dict) else []:
        content = entry.get("content") if isinstance(entry, dict) else None
        if isinstance(content, str) and key.isascii() and key.isdigit() and len(key) < 10:
            taken[int(key)] = content
    config = documents.get("config.json", {})
    levels = [config, config.get("text_config"), documents.get("generation_config.json")]
    for level in levels:
        for name in ("bos_token_id", "eos_token_id", "pad_token_id") if isinstance(level, dict) else ():
            assert isinstance(level, dict)
            value = level.get(name)
            for number in value if isinstance(value, list) else [value]:
                if type(number) is int:
                    taken.setdefault(number, name)
    named = tuple(TakenToken(number, taken[number]) for number in sorted(taken))
    return Tokenizer(files, named, isinstance(added, dict))


def same_files(one: Tokenizer, other: Tokenizer) -> bool | None:
    """True when a shared tokenizer file is byte for byte the same, False when one differs, None when no file
    can be compared."""
    answers = []
    for mine in one.files:
        theirs = next((file for file in other.files if file.path == mine.path), None)
        if theirs is None:
            continue
        schemes = {digest.partition(":")[0] for digest in mine.digests}
        common = schemes & {digest.partition(":")[0] for digest in theirs.digests}
        if common:
            answers.append(bool(set(mine.digests) & set(theirs.digests)))
        elif mine.size != theirs.size:
            answers.append(False)
    return all(answers) if answers else None
