"""Text to token ids and back, through a `tokenizer.json`, and the ChatML wrapping of the embedded target."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer as RustTokenizer

from surefoot.errors import InputError


class Tokenizer:
    """A byte-level BPE tokenizer with ChatML turns (`<|im_start|>role ... <|im_end|>`)."""

    def __init__(self, rust: RustTokenizer, system: str | None = None) -> None:
        self._rust = rust
        self._system = system

    @classmethod
    def load(cls, path: Path, system: str | None = None) -> Tokenizer:
        """Read a `tokenizer.json`; `system` is the chat's default system message.

        Raises `InputError` when the file is missing or torn.
        """
        try:
            return cls(RustTokenizer.from_file(str(path)), system)
        except Exception as error:  # the tokenizers library raises bare Exception
            raise InputError(f"{path} is no tokenizer: {error}") from error

    def encode(self, text: str) -> list[int]:
        return list(self._rust.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._rust.decode(list(ids), skip_special_tokens=True))

    def encode_chat(self, user: str, system: str | None = None) -> list[int]:
        """The ids of one user turn, opened for the assistant to answer. `system=""` leaves it out."""
        system = self._system if system is None else system
        start = f"<|im_start|>system\n{system}<|im_end|>\n" if system else ""
        return self.encode(f"{start}<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n")

    def id_of(self, token: str) -> int | None:
        found = self._rust.token_to_id(token)
        return None if found is None else int(found)
