"""The best-first tree built on the GPU by one Triton program, without a round trip to the host.

The same greedy search as `tree.best_first_tree`: the frontier lives in registers, each step takes its best entry
by a reduction. Scores are float64 sums in the same order, so the tree is exactly the heap's, ties included.
Budgets to 1024 (a frontier of 2 * budget entries).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor


@dataclass(frozen=True)
class DeviceTree:
    """A tree of exactly `budget` rows behind the root, all int32 on the device, row 0 being the root.

    `parents` [width] (the root's is 0), `depths` [width] (0 for the root), `ranks` [width] (0 for the root). When
    fewer prefixes than `budget` exist, the rows past `count` [1] are padding: parent 0, depth 0.
    """

    parents: Tensor
    depths: Tensor
    ranks: Tensor
    count: Tensor


def empty_tree(width: int, device: torch.device) -> DeviceTree:
    """Buffers of a tree of `width` rows, the root alone."""
    zeros = torch.zeros(3, width, dtype=torch.int32, device=device)
    return DeviceTree(zeros[0], zeros[1], zeros[2], torch.zeros(1, dtype=torch.int32, device=device))


def build_tree(log_probs: Tensor, tree: DeviceTree) -> None:
    """Fill `tree` with the best prefixes of `log_probs` [depth, candidates] (float64, each row falling)."""
    depth, width = log_probs.shape
    budget = tree.parents.shape[0] - 1
    _best_first[(1,)](
        log_probs,
        tree.parents,
        tree.depths,
        tree.ranks,
        tree.count,
        depth,
        width,
        budget,
        FRONTIER=max(32, triton.next_power_of_2(2 * budget)),
        num_warps=1 if budget <= 256 else 4,
    )


@triton.jit  # type: ignore[untyped-decorator]
def _best_first(log_probs, parents, depths, ranks, count, depth, width, budget, FRONTIER: tl.constexpr):  # type: ignore[no-untyped-def]
    # One frontier entry: the score of a prefix, the row of its parent, the parent's score, its depth and its rank.
    slots = tl.arange(0, FRONTIER)
    score = tl.where(slots == 0, tl.load(log_probs), float("-inf")).to(tl.float64)
    parent = tl.zeros([FRONTIER], tl.int32)
    base = tl.zeros([FRONTIER], tl.float64)
    level = tl.where(slots == 0, 1, 0).to(tl.int32)
    rank = tl.zeros([FRONTIER], tl.int32)
    row = 1
    running = 1
    while running > 0:
        best = tl.max(score, 0)
        # among equals the smallest (parent, rank), as the heap takes them
        key = tl.where(score == best, parent.to(tl.int64) * 65536 + rank, 1 << 60)
        first = tl.min(key, 0)
        here = (key == first) & (score == best)
        at_parent = tl.sum(tl.where(here, parent, 0), 0)
        at_level = tl.sum(tl.where(here, level, 0), 0)
        at_rank = tl.sum(tl.where(here, rank, 0), 0)
        at_base = tl.sum(tl.where(here, base, 0.0), 0)
        tl.store(parents + row, at_parent)
        tl.store(depths + row, at_level)
        tl.store(ranks + row, at_rank)
        # its slot takes the sibling, slot 2 * row - 1 (never used before) takes the child
        more = at_rank + 1 < width
        sibling = tl.load(log_probs + (at_level - 1) * width + at_rank + 1, mask=more, other=float("-inf"))
        deeper = at_level < depth
        child = tl.load(log_probs + at_level * width, mask=deeper, other=float("-inf"))
        score = tl.where(here, tl.where(more, at_base + sibling, float("-inf")), score)
        rank = tl.where(here, at_rank + 1, rank)
        new = slots == row
        score = tl.where(new, tl.where(deeper, best + child, float("-inf")), score)
        parent = tl.where(new, row, parent)
        base = tl.where(new, best, base)
        level = tl.where(new, at_level + 1, level)
        rank = tl.where(new, 0, rank)
        row += 1
        running = ((row <= budget) & (tl.max(score, 0) > float("-inf"))).to(tl.int32)
    tl.store(count, row - 1)
    while row <= budget:
        tl.store(parents + row, 0)
        tl.store(depths + row, 0)
        tl.store(ranks + row, 0)
        row += 1
