"""The static fraction against SGLang's own code, and the pool against hand-worked sums."""

from __future__ import annotations

import itertools
import zipfile

import pytest

from surefoot.checkpoints.architecture import Architecture, Latent, Tower
from surefoot.preflight.memory.cache import CacheCost
from surefoot.preflight.memory.pool import STATE_SLOTS, default_tokens, draft_token_bytes, planned_pool, token_bytes
from surefoot.preflight.memory.sglang_defaults import default_fraction, rules_for, tower_factor, with_defaults
from surefoot.preflight.options import Options, Speculation

from ..engines.conftest import wheel_of
from .sglang_oracle import VLM, oracle_11, oracle_23

GPUS = (16_376, 24_564, 32_607, 46_068, 81_559, 97_887, 143_771, 183_359, 275_040)
TOWER = Tower("vision", "vit", 27, 1152)


def model(mla: bool, tower: Tower | None, name: str) -> Architecture:
    """An architecture with no more than the rule looks at."""
    return Architecture(
        classes=(name,), model_types=(), text_path="", family=None, layers=(), hidden_size=None,
        intermediate_size=None, vocab_size=None, context=None, dtype="bfloat16", tied_embeddings=False, gated_mlp=True,
        latent=Latent(1536, 512, 128, 64, 128) if mla else None, towers=(tower,) if tower else (),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("version", "path", "oracle"),
    [
        ("0.5.11", "sglang/srt/server_args.py", oracle_11),
        ("0.5.23", "sglang/srt/arg_groups/memory_hook.py", oracle_23),
    ],
)
def test_the_fraction_is_the_one_that_sglang_computes(version: str, path: str, oracle) -> None:  # type: ignore[no-untyped-def]
    with zipfile.ZipFile(wheel_of(f"sglang=={version}")) as wheel:
        source = wheel.read(path).decode()
    rules, found = rules_for(version), set()
    for gpu, tp, mla, tower, drafts in itertools.product(
        GPUS, (1, 2, 4, 8), (False, True), (None, TOWER), (False, True)
    ):
        name = VLM[0] if mla else VLM[1] if tower else "Qwen3ForCausalLM"
        speculation = Speculation("dflash" if drafts else "plain")
        ours = default_fraction(rules, model(mla, tower, name), Options(tensor_parallel=tp), gpu, speculation)
        theirs = oracle(source, gpu, tp, mla, tower, drafts, name)
        assert ours == pytest.approx(theirs, abs=1e-9), (gpu, tp, mla, tower, drafts)
        found.add(round(theirs, 6))
    assert len(found) > 60


def test_the_tower_of_the_founding_case() -> None:
    """27 layers of 1152 are 1.4238 ViT-L: 0.95 x (1 - 0.04238)."""
    assert float(tower_factor(model(True, TOWER, VLM[0]))) == pytest.approx(0.909736, abs=1e-6)
    assert tower_factor(model(True, None, "X")) == 1


def test_versions_between_take_the_older_rules() -> None:
    assert rules_for("0.5.17").version == "0.5.11"
    assert rules_for("0.6.0").version == "0.5.23"
    assert rules_for("0.4.9").version == "0.5.11"


def test_defaults_by_size_of_the_gpu() -> None:
    new, plain = rules_for("0.5.23"), Speculation("plain")
    assert with_defaults(new, Options(8), 97_887, plain) == (8192, 512, None)
    assert with_defaults(new, Options(1), 32_607, plain) == (4096, 48, None)
    assert with_defaults(rules_for("0.5.11"), Options(1), 32_607, plain) == (2048, 24, None)
    assert with_defaults(new, Options(1), 183_359, Speculation("dflash")) == (16384, 512, 48)


def test_recurrent_state_comes_before_tokens() -> None:
    """4 requests x 5 slots + 1 and (4 + 1) x 65 nodes of 1000 bytes are 346,000: what is over holds tokens of 400."""
    cost = CacheCost(full=400, state=1000, state_layers=3)
    pool = planned_pool(rules_for("0.5.23"), 400, cost, 4, 65)
    assert pool.slots == 4 * STATE_SLOTS + 1
    assert pool.state_bytes == 21_000 + 5 * 65 * 1000
    assert pool.tokens(100_000) == 0
    assert pool.tokens(346_000 + 54 * 400 + 399) == 54
    old = planned_pool(rules_for("0.5.11"), 400, cost, 4, 65)
    assert old.state_bytes == 20_000 + 4 * 65 * 1000


def test_default_tokens_by_ratio() -> None:
    """0.5.11 without drafts: state takes 0.9 of what the cache takes."""
    cost = CacheCost(full=100, state=50, state_layers=1)
    assert default_tokens(rules_for("0.5.11"), 100, cost, 1, 1, 19_000) == 100
    assert default_tokens(rules_for("0.5.11"), 100, CacheCost(full=100), 1, 1, 19_000) == 190
    assert default_tokens(rules_for("0.5.11"), 100, CacheCost(full=100), 1, 1, -5) == 0


def test_sliding_layers_are_pooled_apart_where_sglang_does() -> None:
    cost = CacheCost(full=1000, sliding=1000, window=128)
    assert token_bytes(cost, ("GptOssForCausalLM",)) == 1800
    assert token_bytes(cost, ("Gemma3ForCausalLM",)) == 2000


def test_the_drafter_is_a_share_of_the_target_in_the_old_version() -> None:
    draft = CacheCost(full=3072)
    assert draft_token_bytes(rules_for("0.5.11"), 70_272, 61, draft, 6) == 6_912
    assert draft_token_bytes(rules_for("0.5.23"), 70_272, 61, draft, 6) == 3_072
    assert draft_token_bytes(rules_for("0.5.23"), 70_272, 61, None, 0) == 0
