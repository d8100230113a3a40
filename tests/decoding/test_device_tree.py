"""The GPU's tree, run by Triton's interpreter (or on a GPU), against the heap's."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.decoding.device_tree import build_tree, empty_tree
from surefoot.decoding.tree import best_first_tree

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def assert_same_tree(table: torch.Tensor, budget: int) -> None:
    heap = best_first_tree(table.tolist(), budget)
    tree = empty_tree(budget + 1, DEVICE)
    for buffer in (tree.parents, tree.depths, tree.ranks):
        buffer.fill_(77)
    build_tree(table.to(DEVICE), tree)
    count = int(tree.count)
    assert count == len(heap)
    assert tree.parents[1 : count + 1].tolist() == [parent + 1 for parent in heap.parents]
    assert tree.depths[1 : count + 1].tolist() == list(heap.depths)
    assert tree.ranks[1 : count + 1].tolist() == list(heap.ranks)
    assert not tree.parents[count + 1 :].any()
    assert not tree.depths[count + 1 :].any()


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 15), st.integers(1, 20), st.integers(1, 24), st.integers(0, 10**6), st.booleans())
def test_it_is_exactly_the_heaps_tree(depth: int, width: int, budget: int, seed: int, ties: bool) -> None:
    generator = torch.Generator().manual_seed(seed)
    table = torch.log_softmax(torch.randn(depth, width, generator=generator) * 3, -1).double()
    if ties:
        table = table.round()
    assert_same_tree(table.sort(-1, descending=True).values, budget)


@pytest.mark.parametrize("budget", [64, 128])
def test_large_budgets(budget: int) -> None:
    generator = torch.Generator().manual_seed(budget)
    table = torch.log_softmax(torch.randn(15, budget, generator=generator) * 3, -1).double()
    assert_same_tree(table.sort(-1, descending=True).values, budget)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("budget", [1, 15, 32, 256, 1024])
def test_on_the_gpu(budget: int) -> None:
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        table = torch.log_softmax(torch.randn(31, budget, generator=generator) * 3, -1).double()
        assert_same_tree(table.sort(-1, descending=True).values, budget)
