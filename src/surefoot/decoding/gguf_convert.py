"""A llama GGUF to a Hugging Face model folder: dequantised to float32 once, then read like any checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from surefoot.errors import InputError

NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}


def convert_llama_gguf(gguf: Path, folder: Path) -> None:
    """Write config.json, model.safetensors and tokenizer.json for `gguf` into `folder`, which exists.

    Raises:
        InputError: the file is torn, or no llama with a GPT-2 style tokenizer.
        OSError: the folder cannot be written.
    """
    try:
        reader = GGUFReader(gguf)
    except (ValueError, OSError, IndexError, KeyError) as error:
        raise InputError(f"{gguf} is torn or no GGUF: {error}") from error
    meta = {key: field.contents() for key, field in reader.fields.items()}
    if meta.get("general.architecture") != "llama" or meta.get("tokenizer.ggml.model") != "gpt2":
        raise InputError(f"{gguf}: only llama models with a GPT-2 style tokenizer can be converted")
    config = _config(meta)
    (folder / "config.json").write_bytes(msgspec.json.format(msgspec.json.encode(config), indent=1))
    save_file(_tensors(reader, config), folder / "model.safetensors")
    (folder / "tokenizer.json").write_text(_tokenizer(meta).to_str(), encoding="utf-8")


def _config(meta: dict[str, Any]) -> dict[str, Any]:
    heads, hidden = meta["llama.attention.head_count"], meta["llama.embedding_length"]
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": meta["llama.feed_forward_length"],
        "num_hidden_layers": meta["llama.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": meta["llama.attention.head_count_kv"],
        "head_dim": hidden // heads,
        "vocab_size": meta["llama.vocab_size"],
        "max_position_embeddings": meta["llama.context_length"],
        "rms_norm_eps": float(np.float32(meta["llama.attention.layer_norm_rms_epsilon"])),
        "rope_theta": meta["llama.rope.freq_base"],
        "tie_word_embeddings": True,
        "hidden_act": "silu",
        "bos_token_id": meta["tokenizer.ggml.bos_token_id"],
        "eos_token_id": meta["tokenizer.ggml.eos_token_id"],
        "dtype": "float32",
    }


def _tensors(reader: GGUFReader, config: dict[str, Any]) -> dict[str, Tensor]:
    tensors = {}
    for stored in reader.tensors:
        value = torch.from_numpy(dequantize(stored.data, stored.tensor_type).astype(np.float32, copy=True))
        if stored.name == "token_embd.weight":
            tensors["model.embed_tokens.weight"] = value
        elif stored.name == "output_norm.weight":
            tensors["model.norm.weight"] = value
        elif stored.name == "output.weight":
            raise InputError("a GGUF with an output head of its own is not supported")
        else:
            _, layer, kind, _ = stored.name.split(".")
            if kind in ("attn_q", "attn_k"):
                value = half_split_rows(value, int(config["head_dim"]))
            tensors[f"model.layers.{layer}.{NAMES[kind]}.weight"] = value
    return tensors


def half_split_rows(weight: Tensor, head_dim: int) -> Tensor:
    """Undo the row order of llama GGUFs, where RoPE pairs are neighbours: pairs become (i, i + head_dim/2)."""
    out, hidden = weight.shape
    return weight.view(out // head_dim, head_dim // 2, 2, hidden).transpose(1, 2).reshape(out, hidden).contiguous()


def _tokenizer(meta: dict[str, Any]) -> Tokenizer:
    tokens = meta["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in meta["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [token for token, kind in zip(tokens, meta["tokenizer.ggml.token_type"], strict=True) if kind == 3]
    tokenizer.add_special_tokens(control)
    return tokenizer
