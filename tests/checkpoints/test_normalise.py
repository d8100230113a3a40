"""Every family in one form. The figures are those of the model cards and configs, written out by hand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from surefoot.checkpoints.architecture import Architecture, Mixer, Mlp, Span
from surefoot.checkpoints.normalise import normalise
from surefoot.evidence import Level
from surefoot.records import from_json, to_json

CONFIGS = Path(__file__).parent / "configs"
SHARED = Path(os.environ.get("SUREFOOT_SHARED") or Path(__file__).parents[2] / ".." / "shared")
TARGETS = SHARED / "checkpoints" / "targets"


def read(name: str) -> Architecture:
    return normalise(json.loads((CONFIGS / f"{name}.json").read_text()))


@pytest.mark.parametrize(
    ("name", "kinds", "moe_layers", "moe"),
    [
        ("kimi-k2", {"MLA": 61}, 60, (384, 8, 2048, 1, 2048)),
        ("kimi-k2.6", {"MLA": 61}, 60, (384, 8, 2048, 1, 2048)),
        ("kimi-linear", {"KDA": 20, "MLA": 7}, 26, (256, 8, 1024, 1, 1024)),
        ("kimi-k3", {"KDA": 69, "MLA": 24}, 92, (896, 16, 2048, 2, 4096)),
        ("deepseek-v3", {"MLA": 61}, 58, (256, 8, 2048, 1, 2048)),
        ("deepseek-v3.2", {"MLA": 61}, 58, (256, 8, 2048, 1, 2048)),
        (
            "deepseek-v4-flash",
            {"MQA sliding 128": 2, "MQA compressed 4": 21, "MQA compressed 128": 20},
            43,
            (256, 6, 2048, 1, 2048),
        ),
        ("qwen3", {"GQA": 36}, 0, None),
        ("qwen3-moe", {"GQA": 94}, 94, (128, 8, 1536, 0, 0)),
        ("qwen3.6", {"Gated DeltaNet": 48, "GQA": 16}, 0, None),
        ("qwen3.5-moe", {"Gated DeltaNet": 30, "GQA": 10}, 40, (256, 8, 512, 1, 512)),
        ("glm-5", {"MLA": 78}, 75, (256, 8, 2048, 1, 2048)),
        ("glm-4.6", {"GQA": 92}, 89, (160, 8, 1536, 1, 1536)),
        ("minimax-m2", {"GQA": 62}, 62, (256, 8, 1536, 0, 0)),
        ("minimax-m3", {"GQA": 60}, 57, (128, 4, 3072, 1, 3072)),
        ("gpt-oss", {"GQA sliding 128": 18, "GQA": 18}, 36, (128, 4, 2880, 0, 0)),
        ("llama-3", {"GQA": 126}, 0, None),
        ("llama-4", {"GQA chunked 8192": 36, "GQA": 12}, 48, (16, 1, 8192, 1, 8192)),
        ("gemma-3", {"GQA sliding 1024": 52, "GQA": 10}, 0, None),
        ("gemma-4", {"GQA sliding 1024": 25, "GQA": 5}, 30, (128, 8, 704, 0, 0)),
        ("nemotron-h", {"Mamba-2": 54, "no mixer": 54, "GQA": 10}, 0, None),
        (
            "nemotron-3-ultra",
            {"Mamba-2": 44, "no mixer": 54, "GQA": 10},
            54,
            (512, 22, 5120, 1, 10240),
        ),
        ("mixtral", {"GQA": 56}, 56, (8, 2, 16384, 0, 0)),
        ("step-3.7", {"GQA": 12, "GQA sliding 512": 33}, 42, (288, 8, 1280, 1, 1280)),
        ("mimo-v2", {"GQA": 9, "GQA sliding 128": 39}, 47, (256, 8, 2048, 0, 0)),
    ],
)
def test_family(name: str, kinds: dict[str, int], moe_layers: int, moe: tuple[int, ...] | None) -> None:
    model = read(name)
    assert model.layer_kinds == kinds
    assert sum(layer.mlp in (Mlp.MOE, Mlp.BOTH) for layer in model.layers) == moe_layers
    shape = model.moe
    found = shape and (shape.experts, shape.top_k, shape.expert_size, shape.shared, shape.shared_size)
    assert found == moe
    assert not [finding for finding in model.findings if finding.level is Level.UNKNOWN]
    assert from_json(to_json(model), Architecture, source=name) == model


def test_every_value_of_a_nested_config_says_where_it_was_read() -> None:
    model = read("kimi-k2.6")
    assert model.text_path == "text_config"
    assert [(fact.value, fact.source) for fact in model.model_types] == [
        ("kimi_k2", "config.json: text_config.model_type"),
        ("kimi_k25", "config.json: model_type"),
    ]
    sources = {fact.name: fact.source for fact in model.facts}
    assert sources["num_hidden_layers"] == "config.json: text_config.num_hidden_layers"
    assert sources["rope_scaling.factor"] == "config.json: text_config.rope_scaling.factor"
    assert model.latent is not None
    assert (model.latent.kv_lora_rank, model.latent.qk_rope_head_dim, model.latent.v_head_dim) == (
        512,
        64,
        128,
    )
    assert model.towers[0].layers == 27


def test_recurrent_shapes() -> None:
    delta = read("qwen3.6").recurrence
    assert delta is not None
    assert delta.state_elements == 48 * 128 * 128
    assert delta.conv_channels == 2 * 16 * 128 + 48 * 128
    mamba = read("nemotron-h").recurrence
    assert mamba is not None
    assert mamba.mixer is Mixer.MAMBA2
    assert mamba.state_elements == 256 * 64 * 256
    assert mamba.conv_channels == 256 * 64 + 2 * 8 * 256


def test_layers_may_have_their_own_head_sizes() -> None:
    sliding, full = (layer for layer in read("gemma-4").layers[4:6])
    assert (sliding.span, sliding.head_dim, sliding.kv_heads) == (Span.SLIDING, 256, 8)
    assert (full.span, full.head_dim, full.kv_heads) == (Span.FULL, 512, 2)
    assert (read("mimo-v2").layers[0].kv_heads, read("mimo-v2").layers[1].kv_heads) == (4, 8)


def test_an_unknown_family_is_not_guessed() -> None:
    model = read("mystery")
    assert (len(model.layers), model.hidden_size, model.vocab_size) == (12, 1024, 32000)
    assert {layer.mixer for layer in model.layers} == {Mixer.UNKNOWN}
    assert [finding.code for finding in model.findings] == ["layers-unknown"]


def test_an_unknown_family_is_believed_where_it_speaks() -> None:
    document = json.loads((CONFIGS / "mystery.json").read_text())
    model = normalise({**document, "layer_types": ["full_attention", "sliding_attention"] * 6})
    assert model.layer_kinds == {"GQA": 6, "GQA sliding": 6}
    assert [finding.code for finding in model.findings] == ["model-type-new"]


@pytest.mark.parametrize("path", ["llm_config", "language_config", "thinker_config.text_config"])
def test_text_models_hide_in_many_places(path: str) -> None:
    document: dict[str, Any] = json.loads((CONFIGS / "qwen3.json").read_text())
    for part in reversed(path.split(".")):
        document = {part: document}
    model = normalise({"model_type": "wrapper", **document})
    assert (model.text_path, len(model.layers)) == (path, 36)


@pytest.mark.parametrize("value", ["many", -3, True, 2**70, 1.5, [61]])
def test_a_value_of_the_wrong_kind_stays_unknown(value: object) -> None:
    document = json.loads((CONFIGS / "qwen3.json").read_text())
    model = normalise({**document, "num_hidden_layers": value})
    assert model.layers == ()
    assert model.findings[0].code == "config-value-odd"


def test_every_shared_target_resolves() -> None:
    if not TARGETS.is_dir():
        pytest.skip("needs ../shared")
    for path in sorted(TARGETS.glob("*_config.json")):
        if path.name.endswith("hf_quant_config.json"):
            continue
        model = normalise(json.loads(path.read_text()))
        assert model.layers, path.name
        assert Mixer.UNKNOWN not in {layer.mixer for layer in model.layers}, path.name
        assert Mlp.UNKNOWN not in {layer.mlp for layer in model.layers}, path.name
        if model.moe is not None:
            assert None not in (model.moe.top_k, model.moe.expert_size, model.moe.shared), path.name
