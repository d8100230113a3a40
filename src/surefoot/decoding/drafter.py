"""DFlash drafter: a few layers that fill a block of masks in one forward, reading the target's hidden states.

The block is [anchor, MASK, MASK, ...]; slot k predicts the token at its own position. Keys and values of the
context come from the target's hidden states at `target_layer_ids`, once per committed token. Checkpoint format:
z-lab DFlash (config.json with `dflash_config`). Source: DFlash paper, appendix A.3, and the package `dflash`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import msgspec
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from surefoot.decoding.attention import attend, stacked_mask
from surefoot.decoding.kv_cache import KeyValueRows, KVCache, LayerRows, SlottedRows
from surefoot.decoding.linear import Linear, compile_shared, frozen
from surefoot.decoding.model_folder import number, read_config, whole
from surefoot.decoding.rope import rope_table, rotate
from surefoot.decoding.targets.base import Target
from surefoot.decoding.weights import Weights, load_weights
from surefoot.errors import InputError


class DFlashDrafter:
    """A drafter bound to a target, whose embedding and output head it uses."""

    def __init__(
        self, config: Mapping[str, object], weights: Weights, target: Target, vocabulary: Tensor | None
    ) -> None:
        self.target_layer_ids, self.mask_token_id = _check_fit(config, target)
        self.hidden_size = target.hidden_size
        nested = cast(Mapping[str, object], config["dflash_config"])
        self.block_size = whole(config if "block_size" in config else nested, "block_size")
        self.heads = whole(config, "num_attention_heads")
        self.kv_heads = whole(config, "num_key_value_heads")
        self.head_dim = whole(config, "head_dim", self.hidden_size // self.heads)
        self.eps = number(config, "rms_norm_eps", 1e-6)
        self.num_layers = whole(config, "num_hidden_layers")
        self.device, self.dtype = target.device, target.dtype

        taps = len(self.target_layer_ids) * self.hidden_size
        self.fc = Linear(weights.take("fc.weight", self.hidden_size, taps))
        self.hidden_norm = weights.take("hidden_norm.weight", self.hidden_size)
        self.norm = weights.take("norm.weight", self.hidden_size)
        self.rope = rope_table(
            target.context_length + self.block_size,
            self.head_dim,
            number(config, "rope_theta", 10000.0),
            self.device,
            self.dtype,
        )
        self._compiled: RunLayer | None = None
        self.layers = [_DraftLayer(self, weights, config, f"layers.{i}") for i in range(self.num_layers)]
        self.vocabulary = vocabulary
        head = target.head_rows()
        self.head = Linear(head if vocabulary is None else head[vocabulary].contiguous())
        self._masks = target.embed(torch.full((self.block_size - 1,), self.mask_token_id, device=self.device))
        self._target = target
        self.head.pack(self.block_size - 1)
        self.fc.pack(self.block_size)
        for layer in self.layers:
            layer.pack(self.block_size)

    @property
    def depth(self) -> int:
        """How many positions one draft predicts."""
        return self.block_size - 1

    def new_cache(self, capacity: int) -> KVCache:
        """An empty context cache for up to `capacity` tokens."""
        return KVCache(
            self.num_layers, self.kv_heads, self.head_dim, capacity + self.block_size, self.device, self.dtype
        )

    def extend(self, taps: Tensor, positions: Tensor, cache: KeyValueRows) -> None:
        """Write the context of committed tokens into `cache`.

        `taps` [rows, taps * hidden] are the target's hidden states of the tokens at `positions` [rows].
        """
        context = F.rms_norm(self.fc(taps), (self.hidden_size,), self.hidden_norm, self.eps)
        rope = self.rope[positions]
        for i, layer in enumerate(self.layers):
            cache.layer(i).write(*layer.keys_values(context, rope))

    def draft(self, anchor: Tensor, positions: Tensor, cache: KeyValueRows, mask: Tensor | None = None) -> Tensor:
        """Logits [depth, draft vocabulary] of the tokens behind `anchor` [1], the last committed token.

        `positions` [block] are the anchor's and the following. `cache` holds the context of exactly the tokens
        before the anchor; `mask` [block, seen] hides rows that are not valid.
        """
        x = torch.cat([self._target.embed(anchor), self._masks])
        rope = self.rope[positions]
        mask = stacked_mask(mask, self.heads, self.kv_heads)
        run = self._compiled if self._compiled and isinstance(cache, SlottedRows) else _run
        for i, layer in enumerate(self.layers):
            x = run(layer, x, rope, cache.layer(i), mask)
        logits: Tensor = self.head(F.rms_norm(x[1:], (self.hidden_size,), self.norm, self.eps))
        return logits

    def compile(self) -> None:
        """Fuse what drafts over `SlottedRows` do between matrix products."""
        self._compiled = self._compiled or compile_shared(_run)

    def target_ids(self, draft_ids: Tensor) -> Tensor:
        """Target token ids of draft-vocabulary ids."""
        return draft_ids if self.vocabulary is None else self.vocabulary[draft_ids]


class _DraftLayer(nn.Module):
    """One drafter block; attention is bidirectional inside the block and sees the whole context."""

    def __init__(self, model: DFlashDrafter, weights: Weights, config: Mapping[str, object], name: str) -> None:
        hidden, kv, wide = model.hidden_size, model.kv_heads * model.head_dim, model.heads * model.head_dim
        inner = whole(config, "intermediate_size")
        attn, mlp = f"{name}.self_attn", f"{name}.mlp"
        super().__init__()
        self.heads, self.kv_heads, self.head_dim, self.eps = model.heads, model.kv_heads, model.head_dim, model.eps
        self.input_norm = frozen(weights.take(f"{name}.input_layernorm.weight", hidden))
        self.post_norm = frozen(weights.take(f"{name}.post_attention_layernorm.weight", hidden))
        self.q_norm = frozen(weights.take(f"{attn}.q_norm.weight", model.head_dim))
        self.k_norm = frozen(weights.take(f"{attn}.k_norm.weight", model.head_dim))
        self.q = Linear(weights.take(f"{attn}.q_proj.weight", wide, hidden))
        self.kv = Linear(torch.cat([weights.take(f"{attn}.{which}_proj.weight", kv, hidden) for which in ("k", "v")]))
        self.out = Linear(weights.take(f"{attn}.o_proj.weight", hidden, wide))
        self.gate_up = Linear(
            torch.cat([weights.take(f"{mlp}.{which}_proj.weight", inner, hidden) for which in ("gate", "up")])
        )
        self.down = Linear(weights.take(f"{mlp}.down_proj.weight", hidden, inner))

    def pack(self, rows: int) -> None:
        for linear in (self.q, self.kv, self.out, self.gate_up, self.down):
            linear.pack(rows)

    def keys_values(self, x: Tensor, rope: Tensor) -> tuple[Tensor, Tensor]:
        """Rotated keys and values [rows, kv_heads, head_dim] of context or block rows."""
        k, v = self.kv(x).chunk(2, -1)
        shape = (x.shape[0], self.kv_heads, self.head_dim)
        return rotate(F.rms_norm(k.reshape(shape), self.k_norm.shape, self.k_norm, self.eps), rope), v.reshape(shape)

    def forward(self, x: Tensor, rope: Tensor, cache: LayerRows, mask: Tensor | None) -> Tensor:
        h = F.rms_norm(x, self.input_norm.shape, self.input_norm, self.eps)
        q = self.q(h).view(x.shape[0], self.heads, self.head_dim)
        q = rotate(F.rms_norm(q, self.q_norm.shape, self.q_norm, self.eps), rope)
        keys, values = cache.write(*self.keys_values(h, rope))
        x = x + self.out(attend(q, keys, values, mask))
        gate, up = self.gate_up(F.rms_norm(x, self.post_norm.shape, self.post_norm, self.eps)).chunk(2, -1)
        out: Tensor = x + self.down(F.silu(gate) * up)
        return out


def _run(layer: _DraftLayer, x: Tensor, rope: Tensor, cache: LayerRows, mask: Tensor | None) -> Tensor:
    """One layer; compiled once, it serves all layers, as their weights are inputs of the compiled code."""
    out: Tensor = layer(x, rope, cache, mask)
    return out


RunLayer = Callable[[_DraftLayer, Tensor, Tensor, LayerRows, Tensor | None], Tensor]


def load_drafter(folder: Path, target: Target) -> DFlashDrafter:
    """Load a z-lab DFlash checkpoint for `target`.

    A `frequent_ids.json` beside it (a list of token ids) restricts the draft head to those ids.

    Raises:
        InputError: a file is missing or torn, or the drafter does not fit the target.
    """
    weights = load_weights(folder, target.device, target.dtype)
    path = folder / "frequent_ids.json"
    vocabulary = None
    if path.is_file():
        try:
            ids = msgspec.json.decode(path.read_bytes(), type=list[int])
        except msgspec.DecodeError as error:
            raise InputError(f"{path} is torn or no list of token ids: {error}") from error
        if not ids or min(ids) < 0 or max(ids) >= target.vocab_size:
            raise InputError(f"{path} holds ids outside the target's vocabulary of {target.vocab_size}")
        vocabulary = torch.tensor(ids, device=target.device)
    return DFlashDrafter(read_config(folder), weights, target, vocabulary)


def _check_fit(config: Mapping[str, object], target: Target) -> tuple[tuple[int, ...], int]:
    """Target layer ids and mask id of a drafter that fits `target`; `InputError` says what does not."""
    dflash = config.get("dflash_config")
    ids = dflash.get("target_layer_ids") if isinstance(dflash, dict) else None
    mask = dflash.get("mask_token_id") if isinstance(dflash, dict) else None
    if not isinstance(ids, list) or not ids or not all(isinstance(i, int) for i in ids):
        raise InputError("the drafter's config.json has no dflash_config.target_layer_ids: it is no DFlash drafter")
    remedy = "use the drafter that was trained for this target"
    if (size := whole(config, "hidden_size")) != target.hidden_size:
        raise InputError(f"the drafter's hidden size is {size}, the target's {target.hidden_size}", remedy=remedy)
    if (size := whole(config, "vocab_size")) != target.vocab_size:
        raise InputError(f"the drafter's vocabulary is {size}, the target's {target.vocab_size}", remedy=remedy)
    if (size := whole(config, "num_target_layers", target.num_layers)) != target.num_layers:
        raise InputError(f"the drafter expects {size} target layers, there are {target.num_layers}", remedy=remedy)
    if min(ids) < 0 or max(ids) >= target.num_layers:
        raise InputError(
            f"the drafter reads target layers {ids}, there are 0 to {target.num_layers - 1}", remedy=remedy
        )
    if not isinstance(mask, int) or not 0 <= mask < target.vocab_size:
        raise InputError(f"the drafter's mask token id {mask!r} is no id of the target's vocabulary", remedy=remedy)
    return tuple(ids), mask
