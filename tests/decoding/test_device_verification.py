"""Fixed-shape verification against the host's."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.decoding.device_verification import accepted_path, ancestor_rows, choose, slot_mask
from surefoot.decoding.rounds import Sampling
from surefoot.decoding.sampling import Sampler
from surefoot.decoding.verification import ancestors, tree_mask, walk
from tests.decoding.test_verification import make_tree

DEPTH = 8


def random_tree(draws: list[int], padding: int) -> tuple[object, torch.Tensor, torch.Tensor, torch.Tensor]:
    """A random tree of depth <= DEPTH: host form, and device rows (parents, depths, real)."""
    parents: list[int] = []
    for draw in draws:
        open_nodes = [-1, *(n for n in range(len(parents)) if make_tree(parents).depths[n] < DEPTH)]
        parents.append(open_nodes[draw % len(open_nodes)])
    tree = make_tree(parents)
    rows = torch.tensor([0, *(parent + 1 for parent in parents), *[0] * padding])
    depths = torch.tensor([0, *tree.depths, *[0] * padding])
    real = torch.arange(len(rows)) <= len(parents)
    return tree, rows, depths, real


trees = st.tuples(st.lists(st.integers(0, 10**6), max_size=20), st.integers(0, 3))


@given(trees, st.integers(0, 5))
def test_masks_equal_the_hosts(drawn: tuple[list[int], int], past: int) -> None:
    tree, parents, _, _ = random_tree(*drawn)
    width = len(parents)
    visible = ancestor_rows(parents, DEPTH)
    assert torch.equal(visible, ancestors(tree, width))  # type: ignore[arg-type]
    capacity = past + width + 4
    mask = slot_mask(visible, torch.tensor([past]), capacity, torch.float32)
    assert torch.equal(mask[:, : past + width], tree_mask(tree, width, past, torch.device("cpu"), torch.float32))  # type: ignore[arg-type]
    assert (mask[:, past + width :] == float("-inf")).all()


@settings(max_examples=200)
@given(trees, st.data())
def test_the_path_is_the_hosts_walk(drawn: tuple[list[int], int], data: st.DataObject) -> None:
    tree, parents, depths, real = random_tree(*drawn)
    width = len(parents)
    # siblings differ: a node's token is its index among its parent's children
    tokens, children = [0] * width, dict.fromkeys(range(width), 0)
    for row in range(1, int(real.sum())):
        tokens[row] = children[int(parents[row])]
        children[int(parents[row])] += 1
    chosen = data.draw(st.lists(st.integers(0, 3), min_size=width, max_size=width))
    host = walk(tree, tokens[1 : int(real.sum())], lambda row, _: chosen[row])  # type: ignore[arg-type]
    rows, committed, count = accepted_path(
        torch.tensor(tokens), parents, depths, real, ancestor_rows(parents, DEPTH), torch.tensor(chosen), DEPTH
    )
    n = int(count)
    assert tuple(rows[:n].tolist()) == host.rows
    assert tuple(committed[:n].tolist()) == host.tokens
    assert not rows[n:].any()


def test_choices_equal_the_hosts() -> None:
    logits = torch.randn(6, 50, generator=torch.Generator().manual_seed(1))
    assert choose(logits, 0.0, torch.zeros(6)).tolist() == logits.argmax(-1).tolist()
    sampler = Sampler(Sampling(8, temperature=0.7, seed=3))
    chosen = choose(logits, 0.7, sampler.uniform[:6])
    assert chosen.tolist() == [sampler.choose(row, index) for index, row in enumerate(logits)]
