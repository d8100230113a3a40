"""The SGLang reader against two published wheels; the numbers were counted by hand in their sources."""

from __future__ import annotations

import ast
import time
from pathlib import Path
from typing import Any

import pytest

from surefoot.engines.probe.classes import Classes
from surefoot.engines.probe.sglang import CAPTURE, read_sglang

OLD_BACKENDS = [
    *("aiter", "ascend", "cutlass_mla", "dual_chunk_flash_attn", "fa3", "fa4", "flashinfer", "flashmla"),
    *("flex_attention", "intel_amx", "intel_xpu", "nsa", "torch_native", "triton", "trtllm_mha"),
    *("trtllm_mla", "wave"),
]
GONE = {"cutlass_mla", "dual_chunk_flash_attn"}
ADDED = {
    *("cutedsl_mla", "dsa", "dsv4", "hpc_ops", "llada2_cfg_flashinfer", "minicpm_flashattn"),
    *("minicpm_flashinfer", "qsa"),
}


def minimum_sm(found: dict[str, Any]) -> dict[str, int | None]:
    return {q["name"]: q["minimum_sm"] for q in found["quantization"]}


def capturing(found: dict[str, Any]) -> set[str]:
    return {a["name"] for a in found["architectures"] if a["captures_hidden_states"]}


def test_0_5_11(sglang_0_5_11: Path) -> None:
    found = read_sglang(str(sglang_0_5_11 / "sglang"))
    assert found["unknown"] == []
    assert found["unreadable_modules"] == []
    assert found["attention_backends"] == OLD_BACKENDS
    assert {"compressed", "tokenspeed_mla"}.isdisjoint(found["attention_backends"])
    assert len(found["architectures"]) == 204
    assert len(capturing(found)) == 30
    assert "KimiK25ForConditionalGeneration" in capturing(found)
    assert sorted(found["speculative_choices"]) == [
        "DFLASH",
        "EAGLE",
        "EAGLE3",
        "NEXTN",
        "NGRAM",
        "STANDALONE",
    ]
    assert sorted(found["speculative_algorithms"]) == ["DFLASH", "EAGLE", "EAGLE3", "NGRAM", "STANDALONE"]
    assert found["out_of_tree_algorithms"] is False
    assert found["dflash_draft_backends"] == ["flashinfer", "fa3", "fa4", "triton"]
    assert found["draft_attention_backend_choices"] is None
    assert "KimiK25ForConditionalGeneration" in found["mla_architectures"]
    assert "PixtralForConditionalGeneration" in found["mla_conditional_architectures"]
    sm = minimum_sm(found)
    assert (sm["fp8"], sm["mxfp8"], sm["modelopt_fp8"], sm["modelopt_fp4"]) == (80, 100, 89, 100)
    assert (sm["compressed-tensors"], sm["w4afp8"], sm["gguf"], sm["mxfp4"]) == (70, 90, 60, 80)


def test_0_5_23(sglang_0_5_23: Path) -> None:
    found = read_sglang(str(sglang_0_5_23 / "sglang"))
    assert found["unknown"] == []
    assert found["unreadable_modules"] == []
    assert found["attention_backends"] == sorted({*OLD_BACKENDS} - GONE | ADDED)
    assert len(found["attention_backend_choices"]) == 25
    assert {"compressed", "tokenspeed_mla"} <= set(found["attention_backend_choices"])
    assert len(found["architectures"]) == 290
    assert len(capturing(found)) == 70
    assert {"KimiK25ForConditionalGeneration", "Qwen3ForCausalLM"} <= capturing(found)
    assert {"DFLASH", "DSPARK", "UNO", "FROZEN_KV_MTP"} <= set(found["speculative_algorithms"])
    assert found["out_of_tree_algorithms"] is True
    assert found["speculative_choices"] is None
    assert len(found["draft_attention_backend_choices"]) == 7
    sm = minimum_sm(found)
    assert (sm["fp8"], sm["mxfp8"], sm["modelopt_fp4"], sm["nvfp4_online"]) == (80, 100, 80, 100)
    assert (sm["moe_wna16"], sm["w8a8_int8"], sm["modelopt_mixed"]) == (70, 75, 80)


@pytest.mark.parametrize("version", ["sglang_0_5_11", "sglang_0_5_23"])
def test_the_outline_agrees_with_whole_syntax_trees(version: str, request: pytest.FixtureRequest) -> None:
    """The oracle parses every model file whole and looks for `EntryClass` and the method in each class."""
    folder = request.getfixturevalue(version) / "sglang" / "srt" / "models"
    entries, own = set(), set()
    for path in folder.glob("*.py"):
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EntryClass":
                listed = node.value.elts if isinstance(node.value, ast.List) else [node.value]
                entries |= {element.id for element in listed if isinstance(element, ast.Name)}
            if isinstance(node, ast.ClassDef) and CAPTURE in {getattr(f, "name", "") for f in node.body}:
                own.add((f"sglang.srt.models.{path.stem}", node.name))
    classes = Classes(str(folder), "sglang.srt.models")
    assert {name for _, name in classes.entries} == entries
    top = {key for key, methods in classes.methods.items() if CAPTURE in methods and key[0].count(".") == 3}
    assert top == own


def test_a_whole_read_takes_under_a_second(sglang_0_5_23: Path) -> None:
    start = time.process_time()
    read_sglang(str(sglang_0_5_23 / "sglang"))
    assert time.process_time() - start < 2.0  # 0.8 s on an idle core; the limit leaves room for a busy one


def test_a_torn_install_names_what_is_missing(tmp_path: Path) -> None:
    registry = tmp_path / "srt" / "layers" / "attention"
    registry.mkdir(parents=True)
    (registry / "attention_registry.py").write_text('@register_attention_backend("only")\ndef f(): pass\n')
    models = tmp_path / "srt" / "models"
    models.mkdir()
    (models / "good.py").write_bytes(b"\xef\xbb\xbfclass A(B):\n    def f(self): return 1 +\n\nEntryClass = [A]\n")
    (models / "bad.py").write_bytes(b"class A(:\n")
    found = read_sglang(str(tmp_path))
    assert found["attention_backends"] == ["only"]
    assert [a["name"] for a in found["architectures"]] == ["A"]
    assert found["unreadable_modules"] == ["sglang.srt.models.bad"]
    assert {entry["part"] for entry in found["unknown"]} == {"choices", "algorithms", "quantization", "mla"}
