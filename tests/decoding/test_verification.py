from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from surefoot.decoding.tree import DraftTree
from surefoot.decoding.verification import ancestors, causal_mask, tree_mask, walk


def make_tree(parents: list[int]) -> DraftTree:
    depths: list[int] = []
    for parent in parents:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    return DraftTree(tuple(parents), tuple(depths), (0,) * len(parents), (0.0,) * len(parents))


random_trees = st.lists(st.integers(0, 10**6), max_size=40).map(
    lambda draws: make_tree([draw % (node + 1) - 1 for node, draw in enumerate(draws)])
)


@given(random_trees, st.integers(0, 3))
def test_every_row_sees_exactly_its_ancestors(tree: DraftTree, padding: int) -> None:
    width = len(tree) + 1 + padding
    visible = ancestors(tree, width)
    for row in range(width):
        expected = {row, 0}
        node = row - 1 if row <= len(tree) else -1
        while node >= 0:
            expected.add(node + 1)
            node = tree.parents[node]
        assert set(torch.nonzero(visible[row]).flatten().tolist()) == expected


def test_a_chain_has_the_causal_mask() -> None:
    mask = tree_mask(make_tree([-1, 0, 1]), 4, 5, torch.device("cpu"), torch.float32)
    assert torch.equal(mask, causal_mask(4, 5, torch.device("cpu"), torch.float32))
    assert mask[0].tolist() == [0.0] * 6 + [float("-inf")] * 3


def test_the_walk_takes_the_targets_choices() -> None:
    #        root -> a(7) -> b(8);  root -> c(9) -> d(8)
    tree, drafted = make_tree([-1, 0, -1, 2]), [7, 8, 9, 8]
    choices = {0: 9, 3: 8, 4: 5}
    taken = walk(tree, drafted, lambda row, depth: choices[row])
    assert taken.rows == (0, 3, 4)
    assert taken.tokens == (9, 8, 5)


def test_a_walk_that_accepts_nothing_still_commits_one_token() -> None:
    taken = walk(make_tree([-1]), [7], lambda row, depth: 1)
    assert (taken.rows, taken.tokens) == ((0,), (1,))
