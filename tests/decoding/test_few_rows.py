"""Products of few rows, run by Triton's interpreter (or on a GPU), against float64."""

from __future__ import annotations

import pytest
import torch

from surefoot.decoding.few_rows import TILES, best_tile, product
from surefoot.decoding.linear import Linear

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def operands(rows: int, outs: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(rows * outs + width)
    x = torch.randn(rows, width, generator=generator)
    return x.to(DEVICE), torch.randn(outs, width, generator=generator).to(DEVICE)


@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize(("rows", "outs", "width"), [(1, 40, 96), (16, 64, 160), (33, 33, 100)])
def test_it_is_the_product_in_float32_precision(tile: object, rows: int, outs: int, width: int) -> None:
    x, weight = operands(rows, outs, width)
    exact = x.double() @ weight.double().T
    assert (product(x, weight, tile) - exact).abs().max() < 2e-5  # type: ignore[arg-type]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("rows", [1, 16, 65])
def test_a_packed_product_keeps_float32_precision(rows: int) -> None:
    x, weight = operands(rows, 960, 576)
    linear = Linear(weight)
    linear.pack(rows)
    exact = x.double() @ weight.double().T
    library = (x @ weight.T - exact).abs().max()
    assert (linear(x) - exact).abs().max() < 4 * library
    assert best_tile(rows, 960, 576, weight.device) is best_tile(rows, 960, 576, weight.device)
