"""What a benchmark measures: one `Answer` for each prompt and strategy, and the conditions of the run."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.decoding.rounds import Seconds


@dataclass(frozen=True)
class Prompt:
    """One request: `set` is its kind (code, maths, ...). `chat` says whether it is wrapped as a user's turn."""

    id: str
    set: str
    text: str
    chat: bool = True


@dataclass(frozen=True)
class Answer:
    """One prompt decoded with one strategy.

    `prefill_s` is the time to the first token, `decode_s` the wall time of everything behind it. `accepted` are
    the accepted drafts of each round behind the prefill, `seconds` the parts of those rounds summed up.
    """

    prompt: str
    set: str
    strategy: str
    tokens: tuple[int, ...]
    text: str
    prefill_s: float
    decode_s: float
    accepted: tuple[int, ...]
    drafted: int
    seconds: Seconds

    @property
    def tokens_per_s(self) -> float:
        """Decoded tokens per second, the prefill and its token left out; 0 when nothing followed it."""
        return (len(self.tokens) - 1) / self.decode_s if self.decode_s > 0 else 0.0


@dataclass(frozen=True)
class Conditions:
    """Everything a number depends on."""

    target: str
    drafter: str
    engine: str
    device: str
    dtype: str
    threads: int
    strategies: tuple[str, ...]
    prompts: int
    prompt_source: str
    max_tokens: int
    temperature: float
    seed: int
    command: str
    started: str
    versions: dict[str, str]


@dataclass(frozen=True)
class Divergence:
    """Where an answer left plain decoding's: token `index`, at which plain's best two logits differ by `gap`.

    `gap` is None when one of the two merely ends there, which no rounding explains. `noise` says
    that the gap is so small that rounding does.
    """

    prompt: str
    strategy: str
    index: int
    gap: float | None
    noise: bool
