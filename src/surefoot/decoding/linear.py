"""Matrix products of a decoding step, made fast for the few widths that a strategy uses.

A product of a [width, in] block with a large weight is bound by reading the weight. On an x86 CPU, MKL's plain
`sgemm` reads and writes it again to pack it at every call; packing once made the products of 16 rows 1.35x faster
(2 AVX-512 cores, torch 2.13), with the same arithmetic. On a GPU the fastest of several ways to cut it is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

if TYPE_CHECKING:
    from surefoot.decoding.few_rows import Tile

MOST_ROWS = 128
"""More rows than this the library multiplies well on a GPU."""


class Linear(nn.Module):
    """`x @ weight.T` for `x` [rows, in] and `weight` [out, in], without bias."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = frozen(weight)
        self._packed: dict[int, Tensor] = {}
        self._tiles: dict[int, Tile] = {}

    def pack(self, width: int) -> None:
        """Make products with exactly `width` rows fast: on a CPU at the price of another copy of the weight."""
        weight = self.weight
        if width > 1 and width not in self._packed and _can_pack(weight):
            self._packed[width] = torch.ops.mkl._mkl_reorder_linear_weight(weight.data, width)
        elif weight.device.type == "cuda" and weight.dtype == torch.float32 and width <= MOST_ROWS:
            from surefoot.decoding.few_rows import best_tile  # needs triton, which only CUDA builds of torch bring

            if tile := best_tile(width, *weight.shape, weight.device):
                self._tiles[width] = tile

    def forward(self, x: Tensor) -> Tensor:
        if tile := self._tiles.get(x.shape[0]):
            from surefoot.decoding.few_rows import product

            return product(x, self.weight, tile)
        packed = self._packed.get(x.shape[0])
        if packed is None:
            return F.linear(x, self.weight)
        out: Tensor = torch.ops.mkl._mkl_linear(x, packed, self.weight, None, x.shape[0])
        return out


def frozen(weight: Tensor) -> nn.Parameter:
    """`weight` as a parameter of a module that is never trained."""
    return nn.Parameter(weight, requires_grad=False)


def compile_shared(run: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Compile a function that runs one layer of a stack, for fixed shapes; all layers share the code of a shape.

    Dynamo's limit of 8 shapes would silently fall back: there is one for each verification width and capacity.
    """
    import torch._dynamo  # takes seconds to import, which a CPU has no use for

    torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, 256)
    return torch.compile(run, dynamic=False)


def _can_pack(weight: Tensor) -> bool:
    return (
        weight.device.type == "cpu"
        and weight.dtype == torch.float32
        and torch.backends.mkl.is_available()
        and hasattr(torch.ops.mkl, "_mkl_reorder_linear_weight")
    )
