"""The rules: every proof holds in the published wheels, and conditions are judged in three values."""

from __future__ import annotations

import zipfile
from dataclasses import replace

import pytest

from surefoot.engines.limits import Proof, Situation, judge_limits, known_limits
from surefoot.evidence import Level, Verdict, judge

from .conftest import wheel_of

FOUNDING = Situation(
    strategy="dflash",
    attention_backend="triton",
    split_attention=False,
    sm=120,
    mla=True,
    recurrent=False,
    captures_hidden_states=True,
    kv_cache_dtype="auto",
    pipeline_parallel=1,
    dp_attention=False,
    simulated_acceptance=False,
)


def codes(version: str, situation: Situation, level: Level | None = None) -> set[str]:
    return {f.code for f in judge_limits("sglang", version, situation) if level is None or f.level is level}


@pytest.mark.parametrize(
    "proof",
    [p for limit in known_limits() for p in limit.proof],
    ids=lambda p: f"{p.package}-{p.file.rpartition('/')[2]}",
)
def test_every_proof_holds_in_the_published_wheel(proof: Proof) -> None:
    with zipfile.ZipFile(wheel_of(proof.package)) as wheel:
        text = wheel.read(proof.file).decode()
    assert (proof.contains is None) != (proof.lacks is None)
    if proof.contains is not None:
        assert proof.contains in text
    if proof.lacks is not None:
        assert proof.lacks not in text


def test_every_limit_was_read_in_its_oldest_and_newest_version() -> None:
    for limit in known_limits():
        read = {p.package.partition("==")[2] for p in limit.proof if p.package.startswith(limit.engine)}
        assert {limit.since, limit.until} <= read, limit.code


def test_the_founding_case_on_triton_has_no_blocker() -> None:
    findings = judge_limits("sglang", "0.5.11", FOUNDING)
    assert judge(findings) is Verdict.GO_WITH_CHANGES
    assert codes("0.5.11", FOUNDING) == {"dflash-refuses-logprobs-and-grammars", "dflash-turns-overlap-off"}
    assert codes("0.5.23", FOUNDING) == set()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"attention_backend": "trtllm_mla"}, "trtllm-mla-on-sm12x"),
        ({"attention_backend": "trtllm_mla", "sm": 121}, "trtllm-mla-on-sm12x"),
        ({"attention_backend": "flashinfer", "strategy": "ddtree"}, "tree-mask-ignored-by-flashinfer-mla"),
        (
            {"attention_backend": "trtllm_mla", "sm": 100, "strategy": "ddtree"},
            "tree-mask-ignored-by-trtllm-mla",
        ),
        ({"strategy": "ddtree", "recurrent": True}, "draft-tree-verified-as-chain-on-recurrent-layers"),
        ({"pipeline_parallel": 2}, "dflash-needs-one-pipeline-stage"),
        ({"captures_hidden_states": False}, "target-cannot-feed-the-drafter"),
        ({"simulated_acceptance": True}, "acceptance-is-simulated"),
    ],
)
def test_what_blocks_on_0_5_23(changes: dict[str, object], code: str) -> None:
    situation = replace(FOUNDING, **changes)  # type: ignore[arg-type]
    assert code in codes("0.5.23", situation, Level.BLOCKER)


def test_what_does_not_apply_says_nothing() -> None:
    assert codes("0.5.23", replace(FOUNDING, attention_backend="trtllm_mla", sm=100)) == set()
    assert codes("0.5.23", replace(FOUNDING, attention_backend="flashinfer", strategy="ddtree", mla=False)) == set()


def test_what_is_not_known_is_unknown_never_fine() -> None:
    situation = replace(FOUNDING, attention_backend="trtllm_mla", sm=None)
    (finding,) = judge_limits("sglang", "0.5.23", situation)
    assert finding.level is Level.UNKNOWN
    assert "depends on sm" in finding.message
    assert judge(judge_limits("sglang", None, FOUNDING)) is Verdict.UNKNOWN


@pytest.mark.parametrize("version", ["0.5.11.post1", "0.5.11+cu130", "0.5.17"])
def test_versions_between_and_beside(version: str) -> None:
    assert "trtllm-mla-on-sm12x" in codes(version, replace(FOUNDING, attention_backend="trtllm_mla"))


@pytest.mark.parametrize("version", ["0.5.10", "0.5.24", "0.6"])
def test_nothing_is_claimed_about_versions_that_were_not_read(version: str) -> None:
    assert codes(version, replace(FOUNDING, attention_backend="trtllm_mla")) == {"limits-not-read"}
