"""Products of a few float32 rows with a large weight on a GPU, tuned by measurement for one shape at a time.

A library's float32 product of 8 to 65 rows leaves most of the chip idle. Here every program reads its own strip of
the weight once, on the tensor cores: three TF32 products per float32 product, which keeps float32's precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional as F

COLD_BYTES = 192 * 2**20
"""Weights timed in turns, so that none is read from the cache: more than any GPU's L2."""


@dataclass(frozen=True)
class Tile:
    """How a product is cut: `outs` weight rows a program, `ins` columns a step, K in `splits` parts."""

    outs: int
    ins: int
    splits: int
    warps: int
    stages: int


TILES = (
    Tile(16, 64, 4, 2, 4),
    Tile(32, 64, 4, 2, 4),
    Tile(32, 64, 1, 2, 4),
    Tile(64, 64, 1, 4, 4),
    Tile(32, 32, 4, 4, 4),
    Tile(64, 32, 4, 4, 4),
    Tile(64, 32, 1, 4, 4),
)
"""Those that won for some shape of 8 to 65 rows on an H200 (`bench/few_rows_speed.py`)."""


def product(x: Tensor, weight: Tensor, tile: Tile) -> Tensor:
    """`x @ weight.T` for `x` [rows, in], rows <= 128, and `weight` [out, in], both float32 and contiguous."""
    rows, width = x.shape
    outs = weight.shape[0]
    parts = torch.empty(tile.splits, rows, outs, device=x.device, dtype=x.dtype)
    part = triton.cdiv(triton.cdiv(width, tile.splits), tile.ins) * tile.ins
    _product[(triton.cdiv(outs, tile.outs), tile.splits)](
        x,
        weight,
        parts,
        rows,
        outs,
        WIDTH=width,
        PART=part,
        ROWS=max(16, triton.next_power_of_2(rows)),
        OUTS=tile.outs,
        INS=tile.ins,
        num_warps=tile.warps,
        num_stages=tile.stages,
    )
    return parts[0] if tile.splits == 1 else parts.sum(0)


@triton.jit  # type: ignore[untyped-decorator]
def _product(  # type: ignore[no-untyped-def]
    x,
    weight,
    parts,
    rows,
    outs,
    WIDTH: tl.constexpr,
    PART: tl.constexpr,
    ROWS: tl.constexpr,
    OUTS: tl.constexpr,
    INS: tl.constexpr,
):
    out = tl.program_id(0) * OUTS + tl.arange(0, OUTS)
    split = tl.program_id(1)
    row = tl.arange(0, ROWS)
    sums = tl.zeros((OUTS, ROWS), dtype=tl.float32)
    for step in range(0, PART, INS):
        column = split * PART + step + tl.arange(0, INS)
        inside = column < WIDTH
        w = tl.load(
            weight + out[:, None].to(tl.int64) * WIDTH + column[None, :],
            mask=(out < outs)[:, None] & inside[None, :],
            other=0.0,
        )
        v = tl.load(x + row[None, :] * WIDTH + column[:, None], mask=(row < rows)[None, :] & inside[:, None], other=0.0)
        sums = tl.dot(w, v, sums, input_precision="tf32x3")
    tl.store(
        parts + (split * rows + row)[None, :].to(tl.int64) * outs + out[:, None],
        sums,
        mask=(row < rows)[None, :] & (out < outs)[:, None],
    )


@cache
def best_tile(rows: int, outs: int, width: int, device: torch.device) -> Tile | None:
    """The fastest tile for this shape on this GPU, or None where the library's product is faster.

    Takes a few seconds, most of them compilation, once for each shape.
    """
    copies = max(2, min(64, COLD_BYTES // (4 * outs * width)))
    weights = [torch.randn(outs, width, device=device) for _ in range(copies)]
    x = torch.randn(rows, width, device=device)
    times: dict[Tile | None, float] = {None: replay_seconds(partial(F.linear, x), weights)}
    for tile in TILES:
        if tile.splits * tile.ins <= width:
            times[tile] = replay_seconds(partial(product, x, tile=tile), weights)
    return min(times, key=times.__getitem__)


def replay_seconds(work: Callable[[Tensor], object], weights: list[Tensor]) -> float:
    """Time of one pass of `work` over `weights`, as a replayed CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        work(weights[0])
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for weight in weights:
            work(weight)
    graph.replay()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(3):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 3e3
