"""`surefoot inspect` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from surefoot.checkpoints.inspection import Inspection
from surefoot.records import from_json, schema

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "examples" / "kimi-k2.6.snapshot.json"
DRAFTER = ROOT / "examples" / "kimi-k2.6-dflash.snapshot.json"
EIGHTEEN = (
    "num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads",
    "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "n_routed_experts",
    "n_shared_experts", "num_experts_per_tok", "moe_intermediate_size", "first_k_dense_replace", "vocab_size",
    "max_position_embeddings", "rope_theta",
)  # fmt: skip


def run(*args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "surefoot", "inspect", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"})


def test_the_founding_case() -> None:
    done = run(TARGET, "--draft", DRAFTER, "--json")
    assert done.returncode == 1, done.stderr
    found = from_json(done.stdout.encode(), Inspection, source="output")
    target, drafter, pair = found.target, found.drafter, found.pair
    assert drafter is not None
    assert pair is not None
    read_at = {fact.source for fact in target.model.facts}
    assert {f"config.json: text_config.{key}" for key in EIGHTEEN} <= read_at
    assert target.model.layer_kinds == {"MLA": 61}
    assert target.quantization.label == "INT4 (compressed-tensors, group 32)"
    assert target.quantization.held == ("INT4",)
    assert target.weights.files == 64
    assert 594e9 < target.download_bytes < 596e9
    assert target.exactness.kind == "exact at any budget"
    assert drafter.access.granted is False
    assert {finding.code: finding.level for finding in pair.findings}["tap-width"] == "ok"


def test_the_card() -> None:
    done = run(TARGET, "--draft", DRAFTER)
    for words in (
        "61 MLA",
        "384 routed, top 8, 1 shared",
        "GB (553.40 GiB) in 64 files",
        "accept the terms at",
    ):
        assert words in done.stdout
    assert done.stdout.endswith("verdict: no-go\n")


def test_facts_name_their_places() -> None:
    assert "text_config.kv_lora_rank (read)" in " ".join(run(TARGET, "--facts").stdout.split())


def test_saving_and_reading_back(model_folder: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    assert run(model_folder, "--save", saved).returncode == 0
    fresh, again = (json.loads(run(source, "--json").stdout) for source in (model_folder, saved))
    assert fresh == again


def test_wrong_use_is_one_line() -> None:
    done = run("no such model")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: not a path and not a repository id: 'no such model'\n  try: ")


def test_the_published_schema_is_the_one_of_the_code() -> None:
    assert json.loads((ROOT / "docs" / "inspect.schema.json").read_text()) == json.loads(json.dumps(schema(Inspection)))
