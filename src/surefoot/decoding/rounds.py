"""What decoding hands out: one `Round` per target forward, with its tokens, its draft and its time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sampling:
    """How to continue a prompt. `temperature` 0 is greedy; otherwise each token is drawn from the target's
    softmax at that temperature, repeatable for a `seed`. Generation ends after `max_tokens` tokens or
    behind the first of the `stop` token ids (which is part of the output)."""

    max_tokens: int = 128
    temperature: float = 0.0
    seed: int = 0
    stop: tuple[int, ...] = ()


@dataclass(frozen=True)
class Seconds:
    """Wall time of the parts of one round, in seconds."""

    draft: float = 0.0
    tree: float = 0.0
    verify: float = 0.0
    commit: float = 0.0

    @property
    def total(self) -> float:
        return self.draft + self.tree + self.verify + self.commit


@dataclass(frozen=True)
class Round:
    """One forward of the target.

    `tokens` are those committed in it (accepted drafts, then one of the target's own), cut at a stop token or
    at `max_tokens`. `accepted` counts accepted drafts before any cut, so tau of a round is `accepted + 1`.
    `drafted` is the number of drafted nodes verified and `depth` the deepest of them (0 for plain decoding).
    The first round of a request is the prefill: `prefill` is true and it commits one token.
    """

    tokens: tuple[int, ...]
    accepted: int = 0
    drafted: int = 0
    depth: int = 0
    seconds: Seconds = Seconds()
    prefill: bool = False
