"""Rotary position embedding, half-split layout (Hugging Face checkpoints): pairs are (i, i + head_dim/2)."""

from __future__ import annotations

import torch
from torch import Tensor


def rope_table(positions: int, head_dim: int, theta: float, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Cosines and sines for positions 0..positions-1, computed in float32: [positions, 2, head_dim]."""
    inverse = theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    angle = torch.outer(torch.arange(positions, dtype=torch.float32), inverse)
    table = torch.stack([torch.cat([angle.cos()] * 2, -1), torch.cat([-angle.sin(), angle.sin()], -1)], 1)
    return table.to(device, dtype)


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """Rotate `x` [rows, heads, head_dim] by the rows' own entries of a table, [rows, 2, head_dim]."""
    return x * table[:, None, 0] + x.roll(x.shape[-1] // 2, -1) * table[:, None, 1]
