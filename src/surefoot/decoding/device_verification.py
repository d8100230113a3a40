"""Masks, the accepted walk and the commit of a verification as tensor operations of fixed shape, for CUDA graphs.

The host versions (`verification`, `sampling`) are the oracle of these.
"""

from __future__ import annotations

import torch
from torch import Tensor


def ancestor_rows(parents: Tensor, depth: int) -> Tensor:
    """Who sees whom, bool [width, width], from `parents` [width] (row 0 is the root and its own parent)."""
    width = parents.shape[0]
    columns = torch.arange(width, device=parents.device)
    visible = columns[:, None] == columns
    at = parents.long()
    for _ in range(depth):
        visible = visible | (at[:, None] == columns)
        at = parents[at].long()
    return visible


def slot_mask(visible: Tensor, length: Tensor, capacity: int, dtype: torch.dtype) -> Tensor:
    """Additive mask [width, capacity]: slots before `length` [1] are seen, the block behind it as `visible` says."""
    width = visible.shape[0]
    relative = torch.arange(capacity, device=visible.device) - length
    inside = visible[:, relative.clamp(0, width - 1)] & (relative < width)
    seen = (relative < 0) | inside
    return torch.zeros_like(seen, dtype=dtype).masked_fill_(~seen, float("-inf"))


def choose(logits: Tensor, temperature: float, uniform: Tensor) -> Tensor:
    """The target's choice behind every row of `logits` [width, vocab], [width]: argmax, or inverse CDF at `uniform`."""
    if temperature == 0:
        return logits.argmax(-1)
    cumulative = torch.softmax(logits.double() / temperature, -1).cumsum(-1)
    thresholds = uniform[:, None] * cumulative[:, -1:]
    return torch.searchsorted(cumulative, thresholds, right=True)[:, 0].clamp(max=logits.shape[-1] - 1)


def accepted_path(
    tokens: Tensor, parents: Tensor, depths: Tensor, real: Tensor, visible: Tensor, chosen: Tensor, depth: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The walk of the target's choices down the tree.

    `tokens`, `parents`, `depths` [width] are the verified rows, `real` marks those that are no padding, `chosen`
    [width] the target's choice behind each. Returns the accepted rows by depth, [depth + 1] (padded with row 0),
    the committed tokens [depth + 1], and how many of them count, [1].
    """
    width = tokens.shape[0]
    wrong = (chosen[parents.long()] != tokens) | ~real
    wrong[0] = False
    on_path = ~(visible & wrong).any(-1)
    rows = torch.zeros(depth + 2, dtype=torch.long, device=tokens.device)
    # a row off the path is written to the spare last place
    place = torch.where(on_path, depths.long(), depth + 1)
    place[0] = 0
    rows.scatter_(0, place, torch.arange(width, device=tokens.device))
    rows = rows[: depth + 1]
    count = on_path.sum().view(1)
    steps = torch.arange(depth + 1, device=tokens.device)
    rows = torch.where(steps < count, rows, 0)
    return rows, chosen[rows], count
