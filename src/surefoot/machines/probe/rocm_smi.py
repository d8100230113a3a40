"""AMD GPUs through `rocm-smi`: name and memory, enough to say what is there."""

from __future__ import annotations

import json
from typing import Any

from surefoot.asking.commands import Unlearned, output


def read_rocm_smi() -> dict[str, Any]:
    """GPUs with name and bytes. Raises `Unlearned` when rocm-smi is missing or fails."""
    return parse_cards(
        output(["rocm-smi", "--showproductname", "--showmeminfo", "vram", "--showdriverversion", "--json"])
    )


def parse_cards(text: str) -> dict[str, Any]:
    """The JSON of `rocm-smi --showproductname --showmeminfo vram --showdriverversion --json`."""
    try:
        cards = json.loads(text)
        driver = cards.pop("system", {}).get("Driver version")
        gpus = [_gpu(index, cards[key]) for index, key in enumerate(sorted(cards, key=_card_number))]
    except (ValueError, AttributeError, TypeError) as error:
        raise Unlearned(f"rocm-smi printed no usable JSON: {error}") from None
    return {"source": "rocm-smi", "driver": driver, "cuda": None, "gpus": gpus, "links": []}


def _card_number(key: str) -> int:
    return int("".join(filter(str.isdigit, key)) or 0)


def _gpu(index: int, card: dict[str, str]) -> dict[str, Any]:
    total = int(card["VRAM Total Memory (B)"]) if "VRAM Total Memory (B)" in card else None
    used = int(card.get("VRAM Total Used Memory (B)", 0))
    name = card.get("Card Series") or card.get("Card series") or card.get("Card Model") or "AMD GPU"
    return {
        "index": index,
        "vendor": "amd",
        "name": name,
        "memory_total": total,
        "memory_free": total - used if total is not None else None,
        "unified_memory": total is None,
    }
