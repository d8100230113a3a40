"""Verification of a draft tree in one target forward: who sees whom, at which position, and the accepted walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot.decoding.tree import DraftTree


def ancestors(tree: DraftTree, width: int) -> Tensor:
    """Who sees whom among the `width` rows of a verification, bool [width, width].

    Row 0 is the root, row n + 1 is node n; a row sees its ancestors and itself. Rows past the tree are padding
    and see the root and themselves, so that their softmax is defined.
    """
    visible = torch.eye(width, dtype=torch.bool)
    visible[:, 0] = True
    for node, parent in enumerate(tree.parents):
        visible[node + 1] |= visible[parent + 1]
    return visible


def tree_mask(tree: DraftTree, width: int, past: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Additive mask [width, past + width]: every row sees the past, and its own ancestors."""
    mask = torch.zeros(width, past + width, dtype=dtype)
    mask[:, past:].masked_fill_(~ancestors(tree, width), float("-inf"))
    return mask.to(device)


def causal_mask(rows: int, past: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Additive mask [rows, past + rows] of a chain: row i sees the past and rows 0..i."""
    mask = torch.full((rows, past + rows), float("-inf"), device=device, dtype=dtype)
    return mask.triu_(past + 1)


@dataclass(frozen=True)
class Walk:
    """`rows` of the verification that were accepted (0, the root, first) and the `tokens` committed."""

    rows: tuple[int, ...]
    tokens: tuple[int, ...]


def walk(tree: DraftTree, drafted: Sequence[int], choose: Callable[[int, int], int]) -> Walk:
    """Follow the target's own choices down the tree, until one is not drafted.

    `drafted[n]` is the token of node n. `choose(row, depth)` is the target's token behind a row at that depth
    (0 for the root): its argmax, or one independent sample. Every committed token is the target's choice, so
    the output has exactly the target's law, whatever was drafted.
    """
    children = {(parent, token): node for node, (parent, token) in enumerate(zip(tree.parents, drafted, strict=True))}
    rows, node = [0], -1
    tokens: list[int] = []
    while True:
        token = choose(node + 1, len(tokens))
        tokens.append(token)
        child = children.get((node, token))
        if child is None:
            return Walk(tuple(rows), tuple(tokens))
        node = child
        rows.append(node + 1)
