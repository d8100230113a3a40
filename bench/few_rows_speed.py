"""Products of few float32 rows on a GPU: every tile against the library, for the embedded target's shapes.

`python bench/few_rows_speed.py` prints one JSON line for each shape and number of rows: microseconds of the library's
product and of the best tiles, and the largest error of both against float64.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial

import torch
from torch.nn import functional as F

from surefoot.decoding import few_rows

SHAPES = {"qkv": (960, 576), "out": (576, 576), "gate_up": (3072, 576), "down": (576, 1536), "head": (49152, 576)}


def measure(name: str, rows: int, device: torch.device) -> dict[str, object]:
    """One shape: the library and the best tiles, in microseconds."""
    outs, width = SHAPES[name]
    copies = max(2, min(64, few_rows.COLD_BYTES // (4 * outs * width)))
    weights = [torch.randn(outs, width, device=device) for _ in range(copies)]
    x = torch.randn(rows, width, device=device)
    exact = x.double() @ weights[0].double().T

    def microseconds(product: Callable[[torch.Tensor], object]) -> float:
        return round(few_rows.replay_seconds(product, weights) / copies * 1e6, 2)

    times = {tile: microseconds(partial(few_rows.product, x, tile=tile)) for tile in few_rows.TILES}
    best = sorted(times, key=times.__getitem__)
    return {
        "product": name,
        "rows": rows,
        "library_us": microseconds(partial(F.linear, x)),
        "library_error": float((F.linear(x, weights[0]) - exact).abs().max()),
        "tiles_us": {str(tile): times[tile] for tile in best[:4]},
        "error": float((few_rows.product(x, weights[0], best[0]) - exact).abs().max()),
        "floor_us": round(4 * outs * width / 4.06e12 * 1e6, 2),
    }


def main() -> None:
    torch.backends.cuda.matmul.allow_tf32 = False
    for rows in (int(n) for n in (sys.argv[1:] or ("1", "8", "16", "33", "65"))):
        for name in SHAPES:
            print(json.dumps(measure(name, rows, torch.device("cuda"))), flush=True)


if __name__ == "__main__":
    main()
