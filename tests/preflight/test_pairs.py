"""Real configs of well-known pairs: each is judged, none crashes, and known facts come out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from surefoot.checkpoints.inspection import take
from surefoot.evidence import Verdict
from surefoot.hosts import Host
from surefoot.machines import known_machine
from surefoot.preflight.answer import Answer
from surefoot.preflight.case import make_case
from surefoot.preflight.engine_choice import choose_engine
from surefoot.preflight.options import Workload

from .conftest import codes, entry, judged

SHARED = Path(os.environ.get("SUREFOOT_SHARED") or Path(__file__).parents[2] / ".." / "shared") / "checkpoints"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")

# gpt-oss: 18 layers x 1 head x 128 x 2 B in full, as many sliding ones at 0.8: 8294.4, rounded up
# target, drafter, machine, engine, verdict of dflash, code that decides, cache bytes a token of the target on one GPU
NVFP4 = "nvidia--Qwen3.6-27B-NVFP4"
PAIRS = [
    ("Qwen--Qwen3-8B", "qwen3-8b-dflash", "rtx-5090x1", "0.5.23", "go with changes", "algorithm", 36 * 8 * 256 * 2),
    ("Qwen--Qwen3-8B", "qwen3-8b-dflash", "h100x8", "0.5.11", "go with changes", "drafter-class", 36 * 1 * 256 * 2),
    ("Qwen--Qwen3-8B", "qwen3-8b-eagle3", "h100x8", "0.5.23", "no-go", "drafter-kind", 36 * 1 * 256 * 2),
    ("Qwen--Qwen3-8B", "qwen3-8b-dspark", "h100x8", "0.5.23", "go with changes", "algorithm", 36 * 1 * 256 * 2),
    ("Qwen--Qwen3-8B", "qwen3-8b-dspark", "h100x8", "0.5.11", "no-go", "algorithm-missing", 36 * 1 * 256 * 2),
    ("Qwen--Qwen3-8B", "qwen3-4b-dflash", "rtx-5090x1", "0.5.23", "no-go", "hidden-size", 36 * 8 * 256 * 2),
    ("Qwen--Qwen3-32B-FP8", None, "l40sx8", "0.5.23", None, "quantization", 64 * 1 * 256 * 2),
    (NVFP4, "qwen3.6-27b-dflash", "b200x8", "0.5.23", "go with changes", "state-per-node-price", None),
    ("nvidia--Kimi-K2.6-NVFP4", None, "a100x8", "0.5.11", None, "quantization-sm", 576 * 61 * 2),
    ("nvidia--Kimi-K2.6-NVFP4", None, "b200x8", "0.5.23", None, "quantization", 576 * 61 * 2),
    ("deepseek-ai--DeepSeek-V3", None, "h200x8", "0.5.23", None, "model-class", 576 * 61 * 2),
    ("deepseek-ai--DeepSeek-V3", None, "l40sx8", "0.5.23", None, "memory-window-empty", 576 * 61 * 2),
    ("openai--gpt-oss-120b", None, "h100x8", "0.5.23", None, "quantization", 8295),
    ("meta-llama--Meta-Llama-3.1-405B", None, "h100x8", "0.5.23", None, "memory-window-empty", 126 * 1 * 256 * 2),
    ("Qwen--Qwen3-235B-A22B", None, "h200x8", "0.5.23", None, "divisible", 94 * 1 * 256 * 2),
]  # fmt: skip


def answer(target: str, drafter: str | None, machine: str, version: str) -> Answer:
    host = Host(known_machine(machine))
    first = take(str(SHARED / "targets" / f"{target}_config.json"))
    second = take(str(SHARED / "drafters" / f"{drafter}.json")) if drafter else None
    case = make_case(first, second, host, choose_engine(host, f"sglang=={version}"), Workload(8192, 2))
    return judged(case, *(("plain", "dflash") if drafter else ("plain",)))


@needs_shared
@pytest.mark.parametrize(("target", "drafter", "machine", "version", "verdict", "code", "token"), PAIRS)
def test_pair(target, drafter, machine, version, verdict, code, token) -> None:  # type: ignore[no-untyped-def]
    found = answer(target, drafter, machine, version)
    assert code in codes(found)
    if verdict is not None:
        assert str(entry(found, "dflash").verdict) == verdict
    budget = entry(found, "plain").budget
    if token is not None and budget is not None:
        assert budget.token_bytes == token
    for strategy in found.strategies:
        if strategy.verdict in (Verdict.GO, Verdict.GO_WITH_CHANGES):
            assert strategy.command
            assert strategy.budget
            assert strategy.budget.fits


@needs_shared
def test_no_target_crashes_on_any_engine() -> None:
    """Every shared config, on a machine of each kind: a verdict, never an exception, never a silent go."""
    for path in sorted((SHARED / "targets").glob("*_config.json")):
        if "hf_quant" in path.name:
            continue
        snapshot = take(str(path))
        for engine in ("sglang==0.5.11", "sglang==0.5.23", "vllm==0.34.0"):
            host = Host(known_machine("rtx-pro-6000x8"))
            found = judged(make_case(snapshot, None, host, choose_engine(host, engine), Workload()), "plain")
            strategy = found.strategies[0]
            assert found.verdict is not Verdict.GO, path.name
            if strategy.budget is None:
                assert found.verdict in (Verdict.UNKNOWN, Verdict.NO_GO), path.name
