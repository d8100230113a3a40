"""The heap's tree against all prefixes, enumerated and sorted."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from surefoot.decoding.tree import DraftTree, best_first_tree, chain


def paths(tree: DraftTree) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for parent, rank in zip(tree.parents, tree.ranks, strict=True):
        found.append((() if parent < 0 else found[parent]) + (rank,))
    return found


def all_prefixes(table: list[list[float]]) -> dict[tuple[int, ...], float]:
    width = len(table[0])
    return {
        ranks: math.fsum(table[depth][rank] for depth, rank in enumerate(ranks))
        for length in range(1, len(table) + 1)
        for ranks in itertools.product(range(width), repeat=length)
    }


tables = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(st.floats(-8, 0), min_size=shape[1], max_size=shape[1]).map(lambda row: sorted(row, reverse=True)),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@given(tables, st.integers(1, 40))
def test_the_tree_holds_the_top_prefixes(table: list[list[float]], budget: int) -> None:
    tree = best_first_tree(table, budget)
    everything = all_prefixes(table)
    assert len(tree) == min(budget, len(everything))
    best = sorted(everything.values(), reverse=True)[: len(tree)]
    assert all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(tree.log_probs, best, strict=True))
    found = paths(tree)
    assert len(set(found)) == len(found)
    assert all(
        math.isclose(everything[path], score, abs_tol=1e-9) for path, score in zip(found, tree.log_probs, strict=True)
    )


@given(tables, st.integers(1, 40))
def test_the_tree_is_prefix_closed_and_ordered(table: list[list[float]], budget: int) -> None:
    tree = best_first_tree(table, budget)
    for node, (parent, depth) in enumerate(zip(tree.parents, tree.depths, strict=True)):
        assert parent < node
        assert depth == (1 if parent < 0 else tree.depths[parent] + 1)
    assert list(tree.log_probs) == sorted(tree.log_probs, reverse=True)


def test_a_tree_by_hand() -> None:
    table = [[math.log(p) for p in row] for row in ([0.6, 0.3, 0.1], [0.9, 0.05, 0.05])]
    # 0.6, then 0.6*0.9 = 0.54, then 0.3, then 0.3*0.9 = 0.27, then 0.1
    assert paths(best_first_tree(table, 5)) == [(0,), (0, 0), (1,), (1, 0), (2,)]


def test_ties_are_broken_by_parent_then_rank() -> None:
    assert paths(best_first_tree([[-1.0, -1.0], [0.0, -9.0]], 4)) == [(0,), (1,), (0, 0), (1, 0)]


@given(tables)
def test_one_candidate_a_position_gives_the_chain(table: list[list[float]]) -> None:
    narrow = [row[:1] for row in table]
    assert best_first_tree(narrow, len(narrow)) == chain(table)


def test_no_budget_and_no_positions_give_no_nodes() -> None:
    assert len(best_first_tree([[0.0]], 0)) == 0
    assert len(best_first_tree([], 4)) == 0
