"""The draft tree: the B most probable prefixes under the drafter's per-position distributions.

The probability of a prefix is the product of its positions' probabilities, so the top B prefixes are always
prefix-closed: they are a tree. Source: DDTree; the surrogate's expected number of accepted tokens is the sum
of the nodes' probabilities.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DraftTree:
    """Nodes in order of falling probability, parents before children. The root (the anchor) is not a node.

    `parents[n]` is the index of n's parent node, -1 under the root. `depths[n]` is 1 under the root. `ranks[n]`
    says which of its position's candidates n is. `log_probs[n]` is the log of the prefix's probability.
    """

    parents: tuple[int, ...]
    depths: tuple[int, ...]
    ranks: tuple[int, ...]
    log_probs: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.parents)


def best_first_tree(log_probs: Sequence[Sequence[float]], budget: int) -> DraftTree:
    """The exact top-`budget` tree of `log_probs` [depth, candidates], each row sorted from the likeliest down.

    Ties go to the candidate with the smaller (parent, rank), so the tree is the same everywhere. O(B log B).
    """
    width = len(log_probs[0]) if log_probs else 0
    parents: list[int] = []
    depths: list[int] = []
    ranks: list[int] = []
    scores: list[float] = []
    frontier = [(-log_probs[0][0], -1, 0, 0.0)] if width and budget > 0 else []
    while frontier and len(parents) < budget:
        negative, parent, rank, base = heapq.heappop(frontier)
        node, depth = len(parents), (0 if parent < 0 else depths[parent]) + 1
        parents.append(parent)
        depths.append(depth)
        ranks.append(rank)
        scores.append(-negative)
        if rank + 1 < width:
            heapq.heappush(frontier, (-(base + log_probs[depth - 1][rank + 1]), parent, rank + 1, base))
        if depth < len(log_probs):
            heapq.heappush(frontier, (-(-negative + log_probs[depth][0]), node, 0, -negative))
    return DraftTree(tuple(parents), tuple(depths), tuple(ranks), tuple(scores))


def chain(log_probs: Sequence[Sequence[float]]) -> DraftTree:
    """The width-1 tree: the likeliest token at every depth, which is DFlash's block."""
    total, totals = 0.0, []
    for row in log_probs:
        total += row[0]
        totals.append(total)
    depth = len(log_probs)
    return DraftTree(tuple(range(-1, depth - 1)), tuple(range(1, depth + 1)), (0,) * depth, tuple(totals))
