"""Folding names loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.checkpoints.tensors import Tensor, TensorGroup, fold
from surefoot.errors import InputError

parts = st.sampled_from(["layers", "experts", "w", "0", "1", "2", "7", "10", "007", "{}", "a1"])
names = st.sets(st.lists(parts, min_size=1, max_size=5).map(".".join), max_size=40)


@given(names)
def test_names_come_back(found: set[str]) -> None:
    groups = fold(Tensor(name, "BF16", (2, 2), 8) for name in sorted(found))
    assert sorted(name for group in groups for name in group.names()) == sorted(found)
    assert sum(group.count for group in groups) == len(found)


def test_experts_fold_into_one_group() -> None:
    tensors = [
        Tensor(f"layers.{layer}.experts.{expert}.w", "BF16", (4,), 8) for layer in range(1, 61) for expert in range(384)
    ]
    (group,) = fold(tensors)
    assert group == TensorGroup("layers.{}.experts.{}.w", "BF16", (4,), 8, (("1-60", "0-383"),))
    assert (group.count, group.bytes) == (60 * 384, 60 * 384 * 8)
    assert group.split(0, 60) == (59 * 384, 384)


@pytest.mark.parametrize("box", [("1-",), ("5-1",), ("a",), ("1", "2"), ()])
def test_a_wrong_box_is_refused(box: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        TensorGroup("layers.{}.w", "BF16", (1,), 2, (box,)).check()
