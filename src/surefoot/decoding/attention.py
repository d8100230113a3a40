"""Grouped-query attention of a few query rows over a cache, for one request."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def attend(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Attention of `q` [rows, heads, head_dim] over `keys`, `values` [kv_heads, length, head_dim].

    `mask` is additive [rows, length], or None where every row sees everything. The query heads of a group are
    stacked as rows of their shared key head, so that no key is copied. Returns [rows, heads * head_dim].
    """
    rows, heads, head_dim = q.shape
    kv_heads = keys.shape[0]
    group = heads // kv_heads
    stacked = q.view(rows, kv_heads, group, head_dim).permute(1, 2, 0, 3).reshape(1, kv_heads, group * rows, head_dim)
    tiled = None if mask is None else mask.repeat(group, 1)
    out = F.scaled_dot_product_attention(stacked, keys[None], values[None], attn_mask=tiled)
    return out.view(kv_heads, group, rows, head_dim).permute(2, 0, 1, 3).reshape(rows, heads * head_dim)
