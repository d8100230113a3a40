"""Parameter counts against the published ones (model cards, in billions)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from surefoot.checkpoints.normalise import normalise
from surefoot.checkpoints.parameters import promised

CONFIGS = Path(__file__).parent / "configs"


@pytest.mark.parametrize(
    ("name", "total", "active"),
    [
        ("kimi-k2", 1026.4, 32.9),
        ("deepseek-v3", 671.0, 37.6),
        ("qwen3", 8.19, 8.19),
        ("qwen3-moe", 235.1, 22.2),
        ("qwen3.6", 26.9, 26.9),
        ("llama-3", 405.9, 405.9),
        ("llama-4", 107.8, 17.2),
        ("gpt-oss", 116.8, 5.7),
        ("glm-5", 743.9, 41.8),
        ("nemotron-h", 56.3, 56.3),
    ],
)
def test_published_sizes(name: str, total: float, active: float) -> None:
    count = promised(normalise(json.loads((CONFIGS / f"{name}.json").read_text())))
    assert count is not None
    assert count.total / 1e9 == pytest.approx(total, rel=2e-3)
    assert count.active / 1e9 == pytest.approx(active, rel=5e-3)


@pytest.mark.parametrize("name", ["mystery", "deepseek-v4-flash", "kimi-linear"])
def test_no_count_where_a_part_is_unknown(name: str) -> None:
    assert promised(normalise(json.loads((CONFIGS / f"{name}.json").read_text()))) is None
