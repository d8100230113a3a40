"""A target and its drafter, loaded and known to fit each other."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.decoding.drafter import DFlashDrafter
from surefoot.decoding.targets.base import Target
from surefoot.decoding.tokenizer import Tokenizer


@dataclass(frozen=True)
class Pair:
    """What a decoder works with. `stop` are the token ids that end an answer."""

    target: Target
    drafter: DFlashDrafter
    tokenizer: Tokenizer
    name: str
    drafter_name: str
    stop: tuple[int, ...]

    @property
    def device(self) -> str:
        return self.target.device.type

    @property
    def dtype(self) -> str:
        return str(self.target.dtype).removeprefix("torch.")

    @property
    def context_length(self) -> int:
        return self.target.context_length
