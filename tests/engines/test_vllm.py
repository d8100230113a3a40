"""The vLLM reader against a published wheel."""

from __future__ import annotations

import re
from pathlib import Path

from surefoot.engines.probe.vllm import read_vllm


def test_0_32_0(vllm_0_32_0: Path) -> None:
    found = read_vllm(str(vllm_0_32_0 / "vllm"))
    assert found["unknown"] == []
    assert found["unreadable_modules"] == []
    assert {"dflash", "dspark", "eagle3", "ngram", "draft_model", "suffix", "mtp"} <= set(
        found["speculative_algorithms"]
    )
    assert {"FLASH_ATTN", "TRITON_MLA", "FLASHINFER_MLA", "CUTLASS_MLA"} <= set(found["attention_backends"])
    assert found["platforms"] == ["tpu", "cuda", "rocm", "xpu", "cpu"]
    names = {a["name"]: a["captures_hidden_states"] for a in found["architectures"]}
    assert "DFlashDraftModel" in names
    assert names["BertModel"] is False
    assert names["KimiK25ForConditionalGeneration"] is True
    assert {"fp8", "compressed-tensors", "modelopt_fp4"} <= {q["name"] for q in found["quantization"]}


def test_every_registered_architecture_is_found(vllm_0_32_0: Path) -> None:
    """The oracle looks for lines of the registry that map a name to a tuple."""
    text = (vllm_0_32_0 / "vllm/model_executor/models/registry.py").read_text()
    keys = set(re.findall(r'^    "(\w+)": \($|^    "(\w+)": \("', text, re.M))
    found = read_vllm(str(vllm_0_32_0 / "vllm"))
    assert {a["name"] for a in found["architectures"]} == {name for pair in keys for name in pair if name}
