"""SGLang's own memory rules by version: its defaults by GPU size, and the static fraction it computes.

Read in `sglang/srt/server_args.py` of 0.5.11 (`_handle_gpu_memory_settings`, `adjust_mem_fraction_for_vlm`) and in
`arg_groups/memory_hook.py` of 0.5.23 (`handle_gpu_memory_settings`). Versions between them are taken as the older.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from surefoot.checkpoints.architecture import Architecture
from surefoot.preflight.options import Options, Speculation

GRAPH_PREFILL_MLA = 1536
SPECULATIVE_RUNNING = 48
"""`--max-running-requests` under speculative decoding when the user gives none."""

_TIERS_OLD = ((20, 2048, 8, 8), (35, 2048, 24, 80), (60, 4096, 32, 160), (160, 8192, 256, 512))
_TIERS_NEW = ((20, 2048, 8, 8), (35, 4096, 48, 160), (60, 4096, 32, 160), (160, 8192, 256, 512))
_LARGEST = (16384, 512, 512)
"""Below so many GiB: chunked prefill, largest graph batch with under 4 ranks, with 4 or more."""

_PREFILL_GRAPH_TOWERS = frozenset(
    {"KimiK25ForConditionalGeneration", "KimiK3ForConditionalGeneration", "Qwen3_5ForConditionalGeneration",
     "Qwen3_5MoeForConditionalGeneration", "MiniMaxM3SparseForConditionalGeneration"}
)  # fmt: skip
"""Multimodal classes whose prefill 0.5.23 captures in graphs all the same (`configs/model_config.py`)."""


@dataclass(frozen=True)
class Rules:
    """What differs between versions that matters for memory."""

    version: str
    tiers: tuple[tuple[int, int, int, int], ...]
    speculative_reserve: int
    draft_counted: bool
    exact_draft_cache: bool
    mask_for_chain: bool
    towers_capture: frozenset[str]
    multimodal_reserve: int
    graph_flag: str
    scratch_by_running: bool


RULES = (
    Rules("0.5.11", _TIERS_OLD, 4096, False, False, True, frozenset(), 0, "--cuda-graph-max-bs", True),
    Rules(
        "0.5.23", _TIERS_NEW, 0, True, True, False, _PREFILL_GRAPH_TOWERS, 100, "--cuda-graph-max-bs-decode", False
    ),
)  # fmt: skip


def rules_for(version: str | None) -> Rules:
    """The rules of the newest version read that is not newer than `version`; of the oldest for older ones."""
    wanted = _order(version or "0")
    fitting = [rules for rules in RULES if _order(rules.version) <= wanted]
    return fitting[-1] if fitting else RULES[0]


def _order(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(word) for word in match.group().split(".")) if match else ()


def with_defaults(
    rules: Rules, options: Options, gpu_mib: float, speculation: Speculation
) -> tuple[int, int, int | None]:
    """Chunked prefill, largest graph batch and running requests that SGLang takes where `options` name none."""
    fitting = [tier[1:] for tier in rules.tiers if gpu_mib < tier[0] * 1024]
    chunk, few, many = fitting[0] if fitting else _LARGEST
    batch = few if options.tensor_parallel < 4 else many
    if rules.version != "0.5.11" and options.max_running is not None:
        batch = min(batch, options.max_running)
    running = options.max_running or (SPECULATIVE_RUNNING if speculation.drafts else None)
    return options.chunked_prefill or chunk, options.graph_batch or batch, running


def default_fraction(
    rules: Rules, model: Architecture, options: Options, gpu_mib: float, speculation: Speculation
) -> float:
    """The static fraction that SGLang computes when the user gives none (`gpu_mib` as nvidia-smi prints it)."""
    chunk, batch, _ = with_defaults(rules, options, gpu_mib, speculation)
    reserved = 512 + max(chunk, 2048) * 1.5 + batch * 2 + options.gpus / 8 * 1024
    if options.data_parallel > 1:
        reserved += batch * options.data_parallel * (4.5 if batch > 300 else 3)
    reserved += _prefill_graphs(rules, model, options, chunk)
    if gpu_mib > 60 * 1024:
        reserved = max(reserved, 10 * 1024)
    if speculation.drafts:
        reserved += rules.speculative_reserve
    fraction = round((gpu_mib - reserved) / gpu_mib, 3)
    return fraction * float(tower_factor(model))


def _prefill_graphs(rules: Rules, model: Architecture, options: Options, chunk: int) -> float:
    """MiB for graphs of prefill, where they stay on."""
    towers = bool(model.towers) and not (set(model.classes) & rules.towers_capture)
    off_before = rules.version == "0.5.11" and options.data_parallel > 1
    if towers or options.pipeline_parallel > 1 or off_before:
        return 0
    if model.latent is not None:
        return GRAPH_PREFILL_MLA
    return 8 * len([size for size in _capture_sizes(chunk) if size <= chunk])


def _capture_sizes(largest: int) -> list[int]:
    return [
        *range(4, 33, 4), *range(48, 257, 16), *range(288, 513, 32), *range(576, 1025, 64),
        *range(1280, 4097, 256), *range(4608, largest + 1, 512),
    ]  # fmt: skip


def tower_factor(model: Architecture) -> Fraction:
    """What a vision tower takes off the fraction: 0.95, less 10 % for each ViT-L it is larger by."""
    tower = next((entry for entry in model.towers if entry.kind == "vision"), None)
    if tower is None:
        return Fraction(1)
    layers, hidden = tower.layers or 24, tower.hidden_size or 1024
    ratio = Fraction(layers * hidden**2, 24 * 1024**2)
    adjustment = max(Fraction(8, 10), min(Fraction(105, 100), 1 - Fraction(1, 10) * (ratio - 1)))
    return Fraction(95, 100) * adjustment
