"""Builds the Kimi K2.6 snapshots of this folder from published figures. No file of the model was seen: tensor
shapes follow from the config, shard sizes from the shapes.

    python examples/kimi_k26.py
"""

from __future__ import annotations

import json
from pathlib import Path

from surefoot.checkpoints.snapshot import (
    Access,
    Document,
    Gate,
    Origin,
    ShardIndex,
    Snapshot,
    StoredFile,
)
from surefoot.checkpoints.tensors import TensorGroup, declared_size
from surefoot.evidence import Finding, Level
from surefoot.records import write_record

HERE = Path(__file__).parent
HIDDEN, LAYERS, EXPERTS, EXPERT, DENSE, VOCAB, HEADS = 7168, 61, 384, 2048, 18432, 163840, 64
Q_RANK, KV_RANK, NOPE, ROPE, VALUE = 1536, 512, 128, 64, 128
GROUP, SHARDS = 32, 64
SCHEME = {
    "config_groups": {
        "group_0": {
            "input_activations": None,
            "targets": ["Linear"],
            "weights": {"group_size": GROUP, "num_bits": 4, "strategy": "group", "type": "int"},
        }
    },
    "format": "pack-quantized",
    "ignore": [
        "lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
    ],
    "kv_cache_scheme": None,
    "quant_method": "compressed-tensors",
    "quantization_status": "compressed",
}  # fmt: skip
YARN = {
    "type": "yarn", "factor": 64.0, "original_max_position_embeddings": 4096, "beta_fast": 32.0,
    "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
}  # fmt: skip
CONFIG = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "auto_map": {
        "AutoConfig": "configuration_kimi_k25.KimiK25Config",
        "AutoModelForCausalLM": "modeling_kimi_k25.KimiK25ForConditionalGeneration",
    },
    "dtype": "bfloat16",
    "tie_word_embeddings": False,
    "text_config": {
        "architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2", "dtype": "bfloat16",
        "num_hidden_layers": LAYERS, "hidden_size": HIDDEN, "intermediate_size": DENSE,
        "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "q_lora_rank": Q_RANK,
        "kv_lora_rank": KV_RANK, "qk_nope_head_dim": NOPE, "qk_rope_head_dim": ROPE, "v_head_dim": VALUE,
        "n_routed_experts": EXPERTS, "n_shared_experts": 1, "num_experts_per_tok": 8,
        "moe_intermediate_size": EXPERT, "first_k_dense_replace": 1, "moe_layer_freq": 1,
        "vocab_size": VOCAB, "max_position_embeddings": 262144, "rope_theta": 50000.0, "rope_scaling": YARN,
        "num_nextn_predict_layers": 0, "tie_word_embeddings": False, "quantization_config": SCHEME,
    },
    "vision_config": {"model_type": "moonvit3d", "vt_num_hidden_layers": 27, "vt_hidden_size": 1152},
}  # fmt: skip
DRAFTER = {
    "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "dtype": "bfloat16", "block_size": 8,
    "dflash_config": {"mask_token_id": 163838, "target_layer_ids": [1, 12, 24, 35, 47, 58]},
    "num_hidden_layers": 6, "num_target_layers": LAYERS, "hidden_size": HIDDEN, "num_attention_heads": 64,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": VOCAB, "max_position_embeddings": 262144,
    "rope_theta": 50000.0, "rope_scaling": YARN, "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
}  # fmt: skip


def tensor(name: str, dtype: str, shape: tuple[int, ...], *ranges: str) -> TensorGroup:
    size = declared_size(dtype, shape)
    assert size is not None
    return TensorGroup(name, dtype, shape, size, (ranges,) if ranges else ())


def target_tensors() -> list[TensorGroup]:
    """All tensors of the text model; names and shapes of the vision tower do not follow from the config."""
    layer, every = "language_model.model.layers.{}.", f"0-{LAYERS - 1}"
    sparse, experts = f"1-{LAYERS - 1}", f"0-{EXPERTS - 1}"
    attention = {
        "q_a_proj": (Q_RANK, HIDDEN),
        "q_b_proj": (HEADS * (NOPE + ROPE), Q_RANK),
        "kv_a_proj_with_mqa": (KV_RANK + ROPE, HIDDEN),
        "kv_b_proj": (HEADS * (NOPE + VALUE), KV_RANK),
        "o_proj": (HIDDEN, HEADS * VALUE),
        "q_a_layernorm": (Q_RANK,),
        "kv_a_layernorm": (KV_RANK,),
    }
    tensors = [tensor(f"{layer}self_attn.{name}.weight", "BF16", shape, every) for name, shape in attention.items()]
    for name in ("input_layernorm", "post_attention_layernorm"):
        tensors.append(tensor(f"{layer}{name}.weight", "BF16", (HIDDEN,), every))
    for name in ("gate", "up", "down"):
        dense = (HIDDEN, DENSE) if name == "down" else (DENSE, HIDDEN)
        one = (HIDDEN, EXPERT) if name == "down" else (EXPERT, HIDDEN)
        tensors.append(tensor(f"{layer}mlp.{name}_proj.weight", "BF16", dense, "0"))
        tensors.append(tensor(f"{layer}mlp.shared_experts.{name}_proj.weight", "BF16", one, sparse))
        expert = f"{layer}mlp.experts.{{}}.{name}_proj.weight"
        tensors.append(tensor(f"{expert}_packed", "I32", (one[0], one[1] // 8), sparse, experts))
        tensors.append(tensor(f"{expert}_scale", "BF16", (one[0], one[1] // GROUP), sparse, experts))
        tensors.append(tensor(f"{expert}_shape", "I32", (2,), sparse, experts))
    tensors.append(tensor(f"{layer}mlp.gate.weight", "BF16", (EXPERTS, HIDDEN), sparse))
    tensors.append(tensor(f"{layer}mlp.gate.e_score_correction_bias", "F32", (EXPERTS,), sparse))
    tensors.append(tensor("language_model.model.embed_tokens.weight", "BF16", (VOCAB, HIDDEN)))
    tensors.append(tensor("language_model.model.norm.weight", "BF16", (HIDDEN,)))
    tensors.append(tensor("language_model.lm_head.weight", "BF16", (VOCAB, HIDDEN)))
    return tensors


def target() -> Snapshot:
    tensors = target_tensors()
    total = sum(group.bytes for group in tensors)
    names = tuple(f"model-{number:05d}-of-{SHARDS:05d}.safetensors" for number in range(1, SHARDS + 1))
    sizes = [total // SHARDS + (number < total % SHARDS) for number in range(SHARDS)]
    config = json.dumps(CONFIG, indent=1)
    return Snapshot(
        reference="moonshotai/Kimi-K2.6",
        origin=Origin.RECONSTRUCTED,
        access=Access(Gate.OPEN, True),
        files=(
            StoredFile("config.json", len(config)),
            *(StoredFile(name, size) for name, size in zip(names, sizes, strict=True)),
        ),
        documents=(Document("config.json", config),),
        tensors=tuple(tensors),
        index=ShardIndex(sum(group.count for group in tensors), names, total),
        remark="computed from published figures, vision tower left out; take a real one with --save",
    )


def drafter() -> Snapshot:
    config = json.dumps(DRAFTER, indent=1)
    taps = DRAFTER["dflash_config"]["target_layer_ids"]  # type: ignore[index]
    closed = Finding(
        Level.BLOCKER,
        "access-gated",
        "z-lab/Kimi-K2.6-DFlash is gated and there is no token",
        remedy="accept the terms at https://huggingface.co/z-lab/Kimi-K2.6-DFlash, then hf auth login",
    )
    return Snapshot(
        reference="z-lab/Kimi-K2.6-DFlash",
        origin=Origin.RECONSTRUCTED,
        access=Access(Gate.GATED, False, "none", (closed,)),
        files=(StoredFile("config.json", len(config)), StoredFile("model.safetensors", int(6.48 * 2**30))),
        documents=(Document("config.json", config),),
        tensors=(tensor("fc.weight", "BF16", (HIDDEN, HIDDEN * len(taps))),),
        remark="computed from published figures; of the tensors only fc is known",
    )


if __name__ == "__main__":
    write_record(HERE / "kimi-k2.6.snapshot.json", target())
    write_record(HERE / "kimi-k2.6-dflash.snapshot.json", drafter())
