"""Claims against tensors, for each way of storing weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from surefoot.checkpoints.checkpoint import Checkpoint, understand
from surefoot.checkpoints.snapshot import Access, Document, Gate, Origin, Snapshot
from surefoot.checkpoints.tensors import Tensor, declared_size, fold
from surefoot.evidence import Level

CONFIGS = Path(__file__).parent / "configs"
M = "model.layers.0.mlp.up_proj"
INT4 = {
    f"{M}.weight_packed": ("I32", (32, 8)),
    f"{M}.weight_scale": ("BF16", (32, 2)),
    f"{M}.weight_shape": ("I64", (2,)),
}
NVFP4 = {
    f"{M}.weight": ("U8", (32, 32)),
    f"{M}.weight_scale": ("F8_E4M3", (32, 4)),
    f"{M}.weight_scale_2": ("F32", ()),
}
FP8 = {f"{M}.weight": ("F8_E4M3", (32, 64)), f"{M}.weight_scale_inv": ("F32", (1, 1))}
MXFP4 = {
    "model.layers.0.mlp.experts.gate_up_proj_blocks": ("U8", (4, 64, 2, 16)),
    "model.layers.0.mlp.experts.gate_up_proj_scales": ("U8", (4, 64, 2)),
}
GPTQ = {
    f"{M}.qweight": ("I32", (8, 32)),
    f"{M}.qzeros": ("I32", (1, 4)),
    f"{M}.scales": ("F16", (1, 32)),
    f"{M}.g_idx": ("I32", (64,)),
}
PLAIN = {"model.layers.0.self_attn.q_proj.weight": ("BF16", (8, 8)), "lm_head.weight": ("BF16", (64, 8))}


def group(bits: int, kind: str, size: int | None = None) -> dict[str, Any]:
    return {"group_0": {"weights": {"num_bits": bits, "type": kind, "group_size": size}, "targets": ["Linear"]}}


CLAIM_INT4 = {
    "quant_method": "compressed-tensors",
    "config_groups": group(4, "int", 32),
    "ignore": ["lm_head"],
}
CLAIM_NVFP4 = {
    "quant_method": "modelopt", "quant_algo": "NVFP4", "config_groups": group(4, "float", 16),
    "kv_cache_scheme": {"num_bits": 8, "type": "float"},
}  # fmt: skip
CLAIM_FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
CLAIM_MXFP4 = {"quant_method": "mxfp4"}
CLAIM_GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 64}


def look(tensors: dict[str, tuple[str, tuple[int, ...]]], claim: Any, **files: Any) -> Checkpoint:
    config = json.loads((CONFIGS / "qwen3.json").read_text()) | ({"quantization_config": claim} if claim else {})
    documents = {"config.json": config, **{f"{name}.json": value for name, value in files.items()}}
    stored = [Tensor(name, *kind, declared_size(*kind) or 0) for name, kind in {**tensors, **PLAIN}.items()]
    snapshot = Snapshot(
        reference="test",
        origin=Origin.FOLDER,
        access=Access(Gate.LOCAL, True),
        documents=tuple(Document(name, json.dumps(value)) for name, value in documents.items()),
        tensors=fold(stored),
    )
    return understand(snapshot)


@pytest.mark.parametrize(
    ("tensors", "claim", "held", "size", "weights"),
    [
        (INT4, CLAIM_INT4, "INT4", 32, 32 * 64),
        (NVFP4, CLAIM_NVFP4, "NVFP4", 16, 32 * 64),
        (FP8, CLAIM_FP8, "FP8", None, 32 * 64),
        (MXFP4, CLAIM_MXFP4, "MXFP4", 32, 4 * 64 * 64),
        (GPTQ, CLAIM_GPTQ, "INT4", 64, 32 * 64),
    ],
)
def test_claim_and_tensors_agree(tensors: Any, claim: Any, held: str, size: int | None, weights: int) -> None:
    seen = look(tensors, claim)
    assert seen.quantization.held == (held,)
    assert seen.quantization.unquantised == ("attention", "head")
    found = next(entry for entry in seen.weights.formats if entry.format == held)
    assert found.group_size == size
    assert seen.weights.text_parameters == weights + 8 * 8 + 64 * 8
    assert [f.level for f in seen.quantization.findings] == [Level.OK]


def test_claimed_nvfp4_stored_int4_shows_both_sides() -> None:
    (finding,) = look(INT4, CLAIM_NVFP4).quantization.findings
    assert (finding.level, finding.code) == (Level.BLOCKER, "quantization-contradiction")
    claimed, stored = finding.evidence
    assert (claimed.value, claimed.source) == ("NVFP4", "config.json: quantization_config")
    assert stored.value == "INT4"
    assert "weight_packed I32 [32, 8] with BF16 weight_scale[32, 2]" in stored.source


def test_claimed_and_not_stored_stored_and_not_claimed() -> None:
    assert look({}, CLAIM_FP8).quantization.findings[0].level is Level.BLOCKER
    assert look(NVFP4, None).quantization.findings[0].code == "quantization-unclaimed"
    assert look({}, None).quantization.findings == ()


def test_two_files_that_disagree() -> None:
    seen = look(INT4, CLAIM_INT4, hf_quant_config={"quantization": {"quant_algo": "NVFP4"}})
    assert "quantization-claims-differ" in {finding.code for finding in seen.quantization.findings}


def test_kv_cache_type_is_the_checkpoints_wish() -> None:
    wish = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    assert look(FP8, None, hf_quant_config=wish).quantization.kv_cache == "FP8"
    assert look(NVFP4, CLAIM_NVFP4).quantization.kv_cache == "FP8"
