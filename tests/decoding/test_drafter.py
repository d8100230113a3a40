"""Our drafter's forward against the `dflash` package's `DFlashDraftModel`, with the embedded checkpoint."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from dflash import DFlashDraftModel

from surefoot.decoding.drafter import load_drafter
from surefoot.decoding.embedded import DRAFTER
from surefoot.decoding.pair import Pair
from surefoot.errors import InputError


@torch.inference_mode()
def test_the_forward_equals_the_dflash_package(pair: Pair) -> None:
    drafter = load_drafter(DRAFTER, pair.target)
    reference = DFlashDraftModel.from_pretrained(DRAFTER, dtype=torch.float32).eval()
    torch.manual_seed(0)
    context, anchor = 37, 1234
    taps = torch.randn(context, len(drafter.target_layer_ids) * drafter.hidden_size) * 3
    cache = drafter.new_cache(64)
    positions = torch.arange(context + drafter.block_size)
    for rows in (slice(0, 20), slice(20, context)):
        drafter.extend(taps[rows], positions[rows], cache)
        cache.length = rows.stop
    ours = drafter.draft(torch.tensor([anchor]), positions[context:], cache)

    block = torch.tensor([anchor] + [drafter.mask_token_id] * drafter.depth)
    hidden = reference(
        position_ids=positions[None],
        noise_embedding=pair.target.embed(block)[None],
        target_hidden=taps[None],
    )
    theirs = hidden[0, 1:] @ pair.target.head_rows().T
    if drafter.vocabulary is not None:
        theirs = theirs[:, drafter.vocabulary]
    scale = theirs.abs().max()
    assert (ours - theirs).abs().max() / scale < 1e-5
    assert torch.equal(ours.argmax(-1), theirs.argmax(-1))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(DRAFTER, tmp_path / "drafter")
    return tmp_path / "drafter"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"hidden_size": 512}, "hidden size is 512, the target's 576"),
        ({"vocab_size": 32000}, "vocabulary is 32000, the target's 49152"),
        ({"num_target_layers": 36}, "expects 36 target layers, there are 30"),
        ({"dflash_config": {"mask_token_id": 16, "target_layer_ids": [1, 30]}}, "layers .* there are 0 to 29"),
        ({"dflash_config": {"mask_token_id": 49152, "target_layer_ids": [1]}}, "mask token id 49152"),
        ({"dflash_config": {"target_layer_ids": [1]}}, "mask token id None"),
        ({"dflash_config": {}}, "no DFlash drafter"),
        ({"num_attention_heads": "nine"}, "num_attention_heads must be a positive whole number"),
        ({"intermediate_size": 77}, "has shape"),
    ],
)
def test_a_drafter_that_does_not_fit_is_refused(pair: Pair, copy: Path, change: dict[str, Any], reason: str) -> None:
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(InputError, match=reason):
        load_drafter(copy, pair.target)


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]"])
def test_a_torn_config_is_one_error(pair: Pair, copy: Path, damage: bytes) -> None:
    (copy / "config.json").write_bytes(damage)
    with pytest.raises(InputError, match="torn"):
        load_drafter(copy, pair.target)


def test_torn_weights_are_one_error(pair: Pair, copy: Path) -> None:
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:100_000])
    with pytest.raises(InputError, match="torn"):
        load_drafter(copy, pair.target)


@pytest.mark.parametrize("ids", ["[]", "[49152]", "[-1]", '["a"]', "{"])
def test_a_wrong_draft_vocabulary_is_one_error(pair: Pair, copy: Path, ids: str) -> None:
    (copy / "frequent_ids.json").write_text(ids)
    with pytest.raises(InputError, match=r"frequent_ids\.json"):
        load_drafter(copy, pair.target)
