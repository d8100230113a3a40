"""Each thing that must hold between target and drafter, broken one at a time."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from surefoot.checkpoints.drafter import DrafterKind, recognise
from surefoot.checkpoints.exactness import ExactnessClass, exactness
from surefoot.checkpoints.inspection import Inspection, inspect
from surefoot.checkpoints.normalise import normalise
from surefoot.checkpoints.snapshot import Access, Document, Gate, Origin, Snapshot, StoredFile
from surefoot.checkpoints.tensors import TensorGroup
from surefoot.evidence import Level

CONFIGS = Path(__file__).parent / "configs"
SHARED = Path(os.environ.get("SUREFOOT_SHARED") or Path(__file__).parents[2] / ".." / "shared")
DRAFT: dict[str, Any] = {
    "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "block_size": 8, "dtype": "bfloat16",
    "dflash_config": {"mask_token_id": 163838, "target_layer_ids": [1, 12, 24, 35, 47, 58]},
    "num_hidden_layers": 6, "num_target_layers": 61, "hidden_size": 7168, "num_attention_heads": 64,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 163840, "max_position_embeddings": 262144,
}  # fmt: skip


def saved(config: Any, fc: int | None = None, digest: str | None = None, **documents: Any) -> Snapshot:
    files = (StoredFile("tokenizer.json", 9, (f"sha256:{digest}",)),) if digest else ()
    texts = {"config.json": config, **{f"{name}.json": text for name, text in documents.items()}}
    return Snapshot(
        reference="test",
        origin=Origin.FOLDER,
        access=Access(Gate.LOCAL, True),
        files=files,
        documents=tuple(Document(name, json.dumps(text)) for name, text in texts.items()),
        tensors=(TensorGroup("fc.weight", "BF16", (7168, fc), 2 * 7168 * fc),) if fc else (),
    )


KIMI = json.loads((CONFIGS / "kimi-k2.6.json").read_text())


def judged(found: Inspection) -> dict[str, Level]:
    assert found.pair is not None
    return {finding.code: finding.level for finding in found.pair.findings}


def test_the_founding_pair_fits() -> None:
    levels = judged(inspect(saved(KIMI), saved(DRAFT, fc=6 * 7168)))
    assert Level.BLOCKER not in levels.values()
    for code in ("tap-width", "hidden-size", "target-layers", "target-depth", "vocabulary", "block-size"):
        assert levels[code] is Level.OK, code


@pytest.mark.parametrize(
    ("change", "code", "level"),
    [
        (
            {"dflash_config": {"mask_token_id": 1, "target_layer_ids": [2, 13, 61]}},
            "target-layers",
            Level.BLOCKER,
        ),
        ({"dflash_config": {"mask_token_id": 1, "target_layer_ids": [1, 1]}}, "target-layers", Level.BLOCKER),
        ({"dflash_config": {"mask_token_id": 1}}, "target-layers", Level.UNKNOWN),
        ({"dflash_config": {"mask_token_id": 163840, "target_layer_ids": [1]}}, "mask-token", Level.BLOCKER),
        ({"dflash_config": {"target_layer_ids": [1]}}, "mask-token", Level.UNKNOWN),
        ({"num_target_layers": 48}, "target-depth", Level.BLOCKER),
        ({"hidden_size": 4096}, "hidden-size", Level.BLOCKER),
        ({"vocab_size": 151936}, "vocabulary", Level.BLOCKER),
        ({"max_position_embeddings": 4096}, "context", Level.WARNING),
        ({"block_size": 1}, "block-size", Level.BLOCKER),
        ({"block_size": None}, "block-size", Level.UNKNOWN),
        ({"dtype": "float16"}, "dtype", Level.WARNING),
        ({"num_attention_heads": 63}, "tensor-parallel", Level.WARNING),
    ],
)
def test_one_thing_wrong(change: dict[str, Any], code: str, level: Level) -> None:
    assert judged(inspect(saved(KIMI), saved({**DRAFT, **change})))[code] is level


def test_counting_hidden_states_is_told_from_a_wrong_target() -> None:
    config = {**DRAFT, "dflash_config": {"mask_token_id": 1, "target_layer_ids": [2, 31, 61]}}
    found = inspect(saved(KIMI), saved(config))
    assert found.pair is not None
    finding = next(entry for entry in found.pair.findings if entry.code == "target-layers")
    assert finding.remedy is not None
    assert finding.remedy.startswith("subtract 1 from every id")


def test_fc_of_another_width() -> None:
    assert judged(inspect(saved(KIMI), saved(DRAFT, fc=5 * 7168)))["tap-width"] is Level.BLOCKER


def test_tokenizers_are_compared_by_their_files() -> None:
    assert judged(inspect(saved(KIMI, digest="aa"), saved(DRAFT, digest="aa")))["tokenizer"] is Level.OK
    assert judged(inspect(saved(KIMI, digest="aa"), saved(DRAFT, digest="bb")))["tokenizer"] is Level.WARNING
    assert judged(inspect(saved(KIMI, digest="aa"), saved(DRAFT)))["tokenizer"] is Level.NOTE


@pytest.mark.parametrize(
    ("content", "level"), [("<|im_end|>", Level.WARNING), ("<|mask|>", Level.OK), (None, Level.OK)]
)
def test_a_mask_token_with_another_meaning(content: str | None, level: Level) -> None:
    added = {"163838": {"content": content}} if content else {}
    target = saved(KIMI, tokenizer_config={"added_tokens_decoder": added})
    assert judged(inspect(target, saved(DRAFT)))["mask-token"] is level


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (DRAFT, DrafterKind.DFLASH),
        ({"architectures": ["DFlash2DraftModel"]}, DrafterKind.DFLASH2),
        (
            {"architectures": ["DSparkDraftModel"], "dflash_config": {"projector_type": "dspark"}},
            DrafterKind.DSPARK,
        ),
        ({"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 32000}, DrafterKind.EAGLE3),
        ({"architectures": ["EagleLlamaForCausalLM"]}, DrafterKind.EAGLE),
        ({"architectures": ["MedusaModel"]}, DrafterKind.MEDUSA),
        ({"architectures": ["DeepseekV3ForCausalLMNextN"]}, DrafterKind.MTP),
        ({"architectures": ["Qwen3ForCausalLM"]}, DrafterKind.MODEL),
    ],
)
def test_kinds(config: dict[str, Any], kind: DrafterKind) -> None:
    assert recognise(config, normalise(config)).kind is kind


def test_block_size_nested_or_not() -> None:
    nested = {**DRAFT, "block_size": None, "dflash_config": {**DRAFT["dflash_config"], "block_size": 16}}
    assert recognise(nested, normalise(nested)).block_size == 16
    assert recognise(DRAFT, normalise(DRAFT)).block_size == 8


@pytest.mark.parametrize(
    ("name", "kind", "state"),
    [
        ("kimi-k2.6", ExactnessClass.ANY_BUDGET, 0),
        ("gpt-oss", ExactnessClass.ANY_BUDGET, 0),
        # 48 layers of 48 x 128 x 128 float32 and 3 steps of 10,240 channels in bfloat16
        ("qwen3.6", ExactnessClass.STATE_PER_NODE, 48 * (48 * 128 * 128 * 4 + 10240 * 3 * 2)),
        ("kimi-linear", ExactnessClass.STATE_PER_NODE, 20 * (32 * 128 * 128 * 4 + 3 * 32 * 128 * 3 * 2)),
        ("deepseek-v4-flash", ExactnessClass.STATE_PER_NODE, None),
        ("mystery", ExactnessClass.UNKNOWN, None),
    ],
)
def test_exactness(name: str, kind: ExactnessClass, state: int | None) -> None:
    found = exactness(normalise(json.loads((CONFIGS / f"{name}.json").read_text())))
    assert (found.kind, found.state_bytes) == (kind, state)


def test_shared_drafters_are_recognised() -> None:
    folder = SHARED / "checkpoints" / "drafters"
    if not folder.is_dir():
        pytest.skip("needs ../shared")
    for path in sorted(folder.glob("*.json")):
        config = json.loads(path.read_text())
        found = recognise(config, normalise(config))
        assert found.kind.lower().replace("-", "") == path.stem.rpartition("-")[2], path.name
        if found.kind is not DrafterKind.EAGLE3:
            assert found.block_size in (7, 16)
            assert len(found.taps) == 5
