"""Which way to decode: `plain`, `dflash` (one drafted chain) or `ddtree:B` (a draft tree of B nodes)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from surefoot.errors import UsageError

MAX_BUDGET = 1024


@dataclass(frozen=True)
class Strategy:
    """A strategy. `budget` is the number of drafted nodes of a tree, the root not counted; None otherwise."""

    kind: Literal["plain", "dflash", "ddtree"]
    budget: int | None = None

    def __str__(self) -> str:
        return self.kind if self.budget is None else f"{self.kind}:{self.budget}"


PLAIN = Strategy("plain")
DFLASH = Strategy("dflash")


def ddtree(budget: int) -> Strategy:
    """`ddtree:budget`. Raises `UsageError` outside 1..1024."""
    if not 1 <= budget <= MAX_BUDGET:
        raise UsageError(
            f"a draft tree of {budget} nodes is not possible",
            remedy=f"give ddtree a budget from 1 to {MAX_BUDGET}, for example ddtree:32",
        )
    return Strategy("ddtree", budget)


def parse_strategy(text: str) -> Strategy:
    """The strategy named by `plain`, `dflash` or `ddtree:B`. Raises `UsageError` for anything else."""
    if text in ("plain", "dflash"):
        return PLAIN if text == "plain" else DFLASH
    match = re.fullmatch(r"ddtree:(-?\d{1,9})", text)
    if match is None:
        raise UsageError(f"unknown strategy {text!r}", remedy="use plain, dflash or ddtree:B, for example ddtree:32")
    return ddtree(int(match.group(1)))


def parse_strategies(text: str) -> tuple[Strategy, ...]:
    """Strategies of a comma-separated list, in order, without repeats. Raises `UsageError`."""
    return tuple(dict.fromkeys(parse_strategy(part.strip()) for part in text.split(",")))
