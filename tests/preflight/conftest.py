"""Cases built from the example snapshots and small configs; no network, no GPU."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from surefoot.checkpoints.inspection import take
from surefoot.checkpoints.snapshot import Snapshot
from surefoot.hosts import Host
from surefoot.machines import known_machine
from surefoot.preflight.answer import Answer, StrategyAnswer
from surefoot.preflight.case import Case, make_case
from surefoot.preflight.check import check
from surefoot.preflight.disk import DiskPlan
from surefoot.preflight.engine_choice import choose_engine
from surefoot.preflight.options import Options, Workload

EXAMPLES = Path(__file__).parents[2] / "examples"
KIMI, KIMI_DRAFT = EXAMPLES / "kimi-k2.6.snapshot.json", EXAMPLES / "kimi-k2.6-dflash.snapshot.json"


@cache
def snapshot(path: Path) -> Snapshot:
    return take(str(path))


def kimi(
    machine: str = "rtx-pro-6000x8",
    engine: str = "sglang==0.5.11",
    *,
    draft: bool = True,
    workload: Workload | None = None,
    options: Options | None = None,
) -> Case:
    """The founding case."""
    host = Host(known_machine(machine))
    drafter = snapshot(KIMI_DRAFT) if draft else None
    workload = workload or Workload(32768, 4)
    return make_case(snapshot(KIMI), drafter, host, choose_engine(host, engine), workload, options)


def judged(case: Case, *strategies: str, disk: DiskPlan | None = None) -> Answer:
    """The answer for strategies given as text."""
    parsed = []
    for name in strategies:
        kind, _, budget = name.partition(":")
        parsed.append((kind, int(budget) if budget else None))
    return check(case, parsed, disk or DiskPlan(free=(10**12,)))


def codes(answer: Answer, strategy: str | None = None) -> dict[str, str]:
    """Code -> level of the shared findings and those of one strategy (of all without a name)."""
    found = list(answer.findings)
    for entry in answer.strategies:
        if strategy in (None, entry.strategy):
            found += entry.findings
    return {finding.code: str(finding.level) for finding in found}


def entry(answer: Answer, strategy: str) -> StrategyAnswer:
    return next(found for found in answer.strategies if found.strategy == strategy)


def write_config(folder: Path, name: str, **values: object) -> Path:
    """A config.json alone, as a checkpoint reference."""
    path = folder / name / "config.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))
    return path


QWEN_DENSE = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288,
    "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
    "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
HYBRID = {
    "architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5",
    "text_config": {
        "model_type": "qwen3_5_text", "hidden_size": 5120, "intermediate_size": 17408, "num_hidden_layers": 64,
        "num_attention_heads": 24, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 248320,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16, "max_position_embeddings": 262144,
        "linear_num_key_heads": 16, "linear_num_value_heads": 48, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "mamba_ssm_dtype": "float32", "dtype": "bfloat16",
        "tie_word_embeddings": False,
    },
}  # fmt: skip
HYBRID_DRAFT = {
    "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 17408,
    "num_hidden_layers": 5, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 248320,
    "block_size": 16, "num_target_layers": 64, "max_position_embeddings": 262144, "tie_word_embeddings": False,
    "dtype": "bfloat16",
    "dflash_config": {"mask_token_id": 248070, "target_layer_ids": [1, 16, 31, 46, 61]},
}  # fmt: skip
