"""AMD GPUs: name and memory."""

import json

import pytest

from surefoot.asking.commands import Unlearned
from surefoot.machines.probe.rocm_smi import parse_cards


def test_name_and_bytes() -> None:
    cards = {
        f"card{i}": {
            "Card Series": "AMD Instinct MI300X",
            "VRAM Total Memory (B)": "206141652992",
            "VRAM Total Used Memory (B)": "1000",
        }
        for i in (10, 2)
    }
    found = parse_cards(json.dumps({**cards, "system": {"Driver version": "6.8.5"}}))
    assert [gpu["name"] for gpu in found["gpus"]] == ["AMD Instinct MI300X"] * 2
    assert found["gpus"][0]["memory_free"] == 206_141_651_992
    assert found["driver"] == "6.8.5"


def test_no_json() -> None:
    with pytest.raises(Unlearned):
        parse_cards("No AMD GPUs")
