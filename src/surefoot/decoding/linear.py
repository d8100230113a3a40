"""Matrix products of a decoding step. On an x86 CPU, a weight can be packed once for one verification width.

A product of a [width, in] block with a large weight is bound by reading the weight; MKL's plain `sgemm` reads
and writes it again to pack it at every call. Packing once made the products of 16 rows 1.35x faster (2 AVX-512
cores, torch 2.13). Same float32 arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Linear(nn.Module):
    """`x @ weight.T` for `x` [rows, in] and `weight` [out, in], without bias."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = frozen(weight)
        self._packed: dict[int, Tensor] = {}

    def pack(self, width: int) -> None:
        """Make products with exactly `width` rows fast, at the price of another copy of the weight."""
        if width > 1 and width not in self._packed and _can_pack(self.weight):
            self._packed[width] = torch.ops.mkl._mkl_reorder_linear_weight(self.weight.data, width)

    def forward(self, x: Tensor) -> Tensor:
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
