"""The draft tree on the GPU against the heap on the host: `python bench/tree_speed.py` on a machine with CUDA.

Both start from draft logits [15, vocabulary] on the device. The GPU side is top-k, log-sum-exp and one Triton program,
replayed as a CUDA graph; the host side copies the top-k over and builds the tree with the heap. Prints JSON lines.
"""

from __future__ import annotations

import json
import statistics
import time

import torch

from surefoot.decoding.device_tree import build_tree, empty_tree
from surefoot.decoding.tree import best_first_tree

DEPTH, VOCABULARY, REPEATS = 15, 151_936, 50


def candidates(logits: torch.Tensor, budget: int) -> torch.Tensor:
    return torch.topk(logits, budget, -1).values.double() - torch.logsumexp(logits, -1, keepdim=True).double()


def main() -> None:
    device = torch.device("cuda")
    logits = torch.randn(DEPTH, VOCABULARY, device=device) * 3
    for budget in (15, 32, 64, 128, 256, 512, 1024):
        tree = empty_tree(budget + 1, device)
        build_tree(candidates(logits, budget), tree)
        torch.cuda.synchronize()
        whole, alone = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(whole):
            table = candidates(logits, budget)
            build_tree(table, tree)
        with torch.cuda.graph(alone):
            build_tree(table, tree)
        host = []
        for _ in range(REPEATS):
            torch.cuda.synchronize()
            start = time.perf_counter()
            heap = best_first_tree(candidates(logits, budget).tolist(), budget)
            host.append(time.perf_counter() - start)
        result = {
            "budget": budget,
            "gpu_us": 1e6 * replay(whole),
            "gpu_tree_only_us": 1e6 * replay(alone),
            "host_us": 1e6 * statistics.median(host),
            "same": tree.parents[1:].tolist() == [parent + 1 for parent in heap.parents]
            and tree.ranks[1:].tolist() == list(heap.ranks),
        }
        print(json.dumps(result | {"host_over_gpu": result["host_us"] / result["gpu_us"]}), flush=True)


def replay(graph: torch.cuda.CUDAGraph) -> float:
    """Median device time of one replay, in seconds."""
    times = []
    for _ in range(REPEATS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return statistics.median(times)


if __name__ == "__main__":
    main()
