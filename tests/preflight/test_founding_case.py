"""Kimi K2.6 with its DFlash drafter on 8x RTX PRO 6000 and others: the findings that once cost a day."""

from __future__ import annotations

import pytest

from surefoot.evidence import Verdict
from surefoot.preflight.disk import DiskPlan, read_free
from surefoot.preflight.options import Options, Workload

from .conftest import codes, entry, judged, kimi

MIB = 2**20


@pytest.mark.parametrize("version", ["0.5.11", "0.5.23"])
def test_the_backend_that_validates_and_cannot_serve(version: str) -> None:
    free = judged(kimi(engine=f"sglang=={version}"), "dflash")
    assert codes(free)["trtllm-mla-on-sm12x"] == "note"  # a trap, not chosen
    assert entry(free, "dflash").launch.arguments[-4:-2] == ("--host", "127.0.0.1")  # type: ignore[union-attr]
    assert "--attention-backend triton" in (entry(free, "dflash").command or "")
    asked = judged(kimi(engine=f"sglang=={version}", options=Options(attention_backend="trtllm_mla")), "dflash")
    assert codes(asked)["trtllm-mla-on-sm12x"] == "blocker"
    assert codes(asked)["attention-cannot-serve"] == "blocker"
    assert asked.verdict is Verdict.NO_GO


@pytest.mark.parametrize(("version", "fraction"), [("0.5.11", 0.7332), ("0.5.23", 0.7578)])
def test_the_default_fraction_cannot_hold_the_weights(version: str, fraction: float) -> None:
    """0.5.11: 512 + 8192 x 1.5 + 512 x 2 + 1024 + 4096 = 18,944 MiB off 97,887 is 0.806, x 0.9097 for the tower.
    0.5.23: 16,384 MiB with the prefill graphs it keeps, no allowance for the drafter: 0.833 x 0.9097."""
    answer = judged(kimi(engine=f"sglang=={version}"), "dflash")
    budget = entry(answer, "dflash").budget
    assert budget is not None
    assert budget.default_fraction == pytest.approx(fraction, abs=1e-4)
    assert budget.default_tokens == 0
    assert codes(answer)["default-fraction-fails"] == "warning"
    assert f"--mem-fraction-static {budget.fraction:.3f}" in (entry(answer, "dflash").command or "")
    assert budget.lowest <= budget.fraction <= budget.highest


def test_weights_on_each_rank_by_hand() -> None:
    """Experts: 60 layers x 384 x 3 x 7168 x 2048 at half a byte, over 8; scales: two bytes for each 32."""
    budget = entry(judged(kimi(), "plain"), "plain").budget
    assert budget is not None
    parts = {part.name: part.bytes for part in budget.static}
    parameters = 60 * 384 * 3 * 7168 * 2048
    assert parts["routed experts"] == parameters // 2 // 8
    assert parts["scales and zeros"] == pytest.approx(parameters // 32 * 2 // 8, rel=1e-4)
    assert parts["routers"] == 60 * 384 * 7168 * 2 + 60 * 384 * 4  # whole on each rank
    latent = 61 * 7168 * (1536 + 512 + 64) * 2  # q_a and kv_a, whole on each rank
    heads = 61 * (64 * (128 + 64) * 1536 + 64 * 256 * 512 + 64 * 128 * 7168) * 2 // 8
    assert parts["attention"] == pytest.approx(latent + heads, rel=1e-3)
    assert 72_000 < budget.weights // MIB < 73_500


@pytest.mark.parametrize(
    ("version", "dtype", "target", "draft"),
    [("0.5.11", "auto", 70_272, 6_912), ("0.5.23", "auto", 70_272, 3_072), ("0.5.23", "fp8_e4m3", 35_136, 1_536)],
)
def test_cache_of_a_token(version: str, dtype: str, target: int, draft: int) -> None:
    """(512 + 64) x 61 layers, whole on each rank; the drafter a share of it in 0.5.11, its one head of 8 later."""
    options = Options(kv_cache_dtype=dtype)
    plain = entry(judged(kimi(engine=f"sglang=={version}", options=options), "plain"), "plain").budget
    drafted = entry(judged(kimi(engine=f"sglang=={version}", options=options), "dflash"), "dflash").budget
    assert plain is not None
    assert drafted is not None
    assert plain.token_bytes == target
    assert drafted.token_bytes == target + draft


@pytest.mark.parametrize("version", ["0.5.11", "0.5.23"])
@pytest.mark.parametrize("budget", [15, 32, 64])
def test_no_draft_tree_and_the_only_backend_that_reads_its_mask(version: str, budget: int) -> None:
    answer = judged(kimi(engine=f"sglang=={version}"), f"ddtree:{budget}")
    found = codes(answer)
    assert found.get("no-draft-tree", found.get("no-draft-tree-in-stock-sglang")) == "blocker"
    assert found["only-tree-backend"] == "note"
    backends = {candidate.name for candidate in entry(answer, f"ddtree:{budget}").backends if candidate.works}
    assert backends == {"triton"}
    assert found["tree-mask-ignored-by-flashinfer-mla"] == "note"
    assert entry(answer, f"ddtree:{budget}").launch is None


def test_the_rest_of_the_day() -> None:
    found = codes(judged(kimi(), "plain", "dflash"))
    assert found["config-nested"] == "note"
    assert found["access-gated"] == "blocker"
    assert found["quantization"] == "ok"
    assert found["pcie-all-reduce"] == "note"
    assert found["model-class"] == "ok"


def test_disk_is_judged_for_both_readings_of_593() -> None:
    """594.2 GB of target and 6.96 GB of drafter: too much for 593 GB, little enough for 593 GiB."""
    answer = judged(kimi(), "plain", disk=DiskPlan(free=read_free("593")))
    disk = [finding for finding in answer.findings if finding.code.startswith("disk-")]
    assert {finding.code: "593.00 GB" in finding.message for finding in disk} == {
        "disk-too-small": True,
        "disk-fits": False,
    }
    exact = judged(kimi(), "plain", disk=DiskPlan(free=read_free("593 GiB")))
    assert codes(exact)["disk-fits"] == "ok"


@pytest.mark.parametrize(
    ("machine", "backend"), [("b200x8", "trtllm_mla"), ("b300x8", "trtllm_mla"), ("h200x8", "fa3")]
)
def test_other_machines_differ_where_they_should(machine: str, backend: str) -> None:
    answer = judged(kimi(machine, "sglang==0.5.23"), "plain", "dflash")
    found = codes(answer)
    assert "default-fraction-fails" not in found
    assert "trtllm-mla-on-sm12x" not in found
    assert "pcie-all-reduce" not in found
    assert f"--attention-backend {backend}" in (entry(answer, "dflash").command or "")
    assert entry(answer, "plain").verdict is Verdict.GO_WITH_CHANGES
    quantization = next(
        f for e in answer.strategies for f in (*answer.findings, *e.findings) if f.code == "quantization"
    )
    assert ("MXINT4" in quantization.message) == machine.startswith("b")


def test_published_cache_of_vllm_is_met_within_three_percent() -> None:
    """rtx6kpro pages: K2.5 INT4 on this machine, vLLM, fp8 cache, fraction 0.93: about 449,600 tokens."""
    options = Options(kv_cache_dtype="fp8_e4m3", memory_fraction=0.93)
    case = kimi(engine="vllm==0.34.0", draft=False, workload=Workload(32768, 1), options=options)
    budget = entry(judged(case, "plain"), "plain").budget
    assert budget is not None
    assert budget.max_tokens == pytest.approx(449_600, rel=0.03)


def test_an_empty_window_is_a_blocker_with_a_way_out() -> None:
    case = kimi(workload=Workload(200_000, 2), options=Options(tensor_parallel=8))
    answer = judged(case, "plain")
    finding = next(f for f in (*answer.findings, *entry(answer, "plain").findings) if f.code == "memory-window-empty")
    assert finding.remedy is not None
    assert "fp8" in finding.remedy
    fixed = judged(kimi(workload=Workload(200_000, 2), options=Options(8, kv_cache_dtype="fp8_e4m3")), "plain")
    assert "memory-window-empty" not in codes(fixed)
    four = judged(kimi(options=Options(tensor_parallel=4)), "plain")
    assert codes(four)["memory-window-empty"] == "blocker"
