"""A hybrid target with a draft tree is told apart: state leaks, and what state per node costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefoot.checkpoints.inspection import take
from surefoot.evidence import Verdict
from surefoot.hosts import Host
from surefoot.machines import known_machine
from surefoot.preflight.case import Case, make_case
from surefoot.preflight.engine_choice import choose_engine
from surefoot.preflight.options import Options, Workload

from .conftest import HYBRID, HYBRID_DRAFT, codes, entry, judged, write_config

NODE = 48 * (48 * 128 * 128 * 4 + (2 * 16 * 128 + 48 * 128) * 3 * 2)
"""48 layers x (48 heads x 128 x 128 in float32 + 10,240 channels x 3 steps in bfloat16)."""


def hybrid(folder: Path, version: str, machine: str = "rtx-pro-6000x2", tp: int = 2) -> Case:
    target = take(str(write_config(folder, "target", **HYBRID)))
    draft = take(str(write_config(folder, "draft", **HYBRID_DRAFT)))
    host = Host(known_machine(machine))
    chosen = choose_engine(host, f"sglang=={version}")
    return make_case(target, draft, host, chosen, Workload(16384, 4), Options(tensor_parallel=tp))


@pytest.mark.parametrize(
    ("version", "code"),
    [("0.5.11", "tree-leaks-state"), ("0.5.23", "draft-tree-verified-as-chain-on-recurrent-layers")],
)
def test_a_tree_leaks_and_a_chain_does_not(tmp_path: Path, version: str, code: str) -> None:
    answer = judged(hybrid(tmp_path, version), "dflash", "ddtree:64")
    assert codes(answer, "ddtree:64")[code] == "blocker"
    assert code not in codes(answer, "dflash")
    assert entry(answer, "dflash").verdict is Verdict.GO_WITH_CHANGES
    assert entry(answer, "ddtree:64").verdict is Verdict.NO_GO


def test_the_price_of_a_node_by_hand(tmp_path: Path) -> None:
    answer = judged(hybrid(tmp_path, "0.5.23"), "ddtree:64")
    price = next(f for f in entry(answer, "ddtree:64").findings if f.code == "state-per-node-price")
    assert {fact.name: fact.value for fact in price.evidence}["state of all nodes of one request"] == 65 * NODE


def test_state_of_all_requests_is_in_the_budget(tmp_path: Path) -> None:
    """Two ranks: half a state each. 0.5.23 keeps 4 x 5 + 1 states, and (4 + 1) x 16 while a block is verified."""
    budget = entry(judged(hybrid(tmp_path, "0.5.23"), "dflash"), "dflash").budget
    assert budget is not None
    assert budget.cache.state == NODE // 2
    assert budget.pool.state_bytes == NODE // 2 * (21 + 5 * 16)
    assert budget.cache.full == 16 * 2 * 2 * 256 * 2  # 16 layers, 2 of 4 heads, keys and values of 256, 2 bytes


def test_the_flag_for_state_slots_is_in_the_command(tmp_path: Path) -> None:
    answer = judged(hybrid(tmp_path, "0.5.11"), "dflash")
    assert "--max-mamba-cache-size 20" in (entry(answer, "dflash").command or "")
