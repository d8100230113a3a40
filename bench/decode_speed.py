"""How fast decoding is against what the machine allows: `python bench/decode_speed.py [--device cuda]`.

Measures memory bandwidth and matrix throughput, the time of one target forward at several widths against the
larger of two floors (bytes of weights over bandwidth, operations over throughput), and tokens/s, tau and
equality of outputs of every strategy, the strategies taking turns on each prompt. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch

from surefoot.decoding.decoder import Decoder
from surefoot.decoding.embedded import load_embedded
from surefoot.decoding.factory import new_decoder
from surefoot.decoding.kv_cache import SlottedRows
from surefoot.decoding.pair import Pair
from surefoot.decoding.rounds import Round, Sampling
from surefoot.decoding.strategy import parse_strategies

PROMPTS = (
    "Write a Python function that returns the n-th Fibonacci number.",
    "Write a Python class for a bank account with deposit and withdraw.",
    "Write a function that merges two sorted lists.",
    "A shop sells pens at 3 for 2 dollars. How much do 12 pens cost?",
    "Solve 3x - 4 = 2x + 9 and explain each step.",
    "Give me three tips for sleeping better.",
    "Explain photosynthesis to a ten year old.",
    "Summarize in two sentences: Bees visit flowers for nectar. They carry pollen between plants.",
)


def seconds(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    """Median time of `work`, in seconds, after one warm-up."""
    work()
    times = []
    for _ in range(repeats):
        if device.type == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def ceilings(device: torch.device, dtype: torch.dtype) -> tuple[float, float]:
    """Read bandwidth in bytes/s (a matrix-vector product over 2 GiB) and throughput in FLOP/s (a large product)."""
    matrix = torch.ones(32768, 2**29 // 32768, device=device, dtype=torch.float32).to(dtype)
    vector = torch.ones(matrix.shape[1], device=device, dtype=dtype)
    bandwidth = matrix.numel() * matrix.element_size() / seconds(lambda: matrix @ vector, device, 7)
    side = 8192 if device.type == "cuda" else 1536
    a = torch.randn(side, side, device=device, dtype=dtype)
    return bandwidth, 2 * side**3 / seconds(lambda: a @ a, device, 5)


def forward_times(pair: Pair, bandwidth: float, throughput: float) -> list[dict[str, float]]:
    """Time of one target forward over 512 cached tokens, by width, against its floor."""
    target, rows = pair.target, []
    parameters = sum(t.numel() for t in _weights(pair))
    for width in (1, 2, 4, 8, 16, 17, 32, 33, 64, 65, 128, 129):
        target.pack(width)
        cache = target.new_cache(512 + width)
        slots = torch.arange(512, 512 + width, device=target.device)
        mask = torch.zeros(width, cache.capacity, device=target.device, dtype=target.dtype)
        tokens = torch.arange(width, device=target.device) + 1000

        def step(tokens=tokens, slots=slots, cache=cache, mask=mask) -> None:  # type: ignore[no-untyped-def]
            target.forward(tokens, slots, SlottedRows(cache, slots), mask)

        run = step if target.device.type == "cpu" else _graph(step)
        took = seconds(run, target.device, 15)
        size = parameters * target.embed(tokens[:1]).element_size()
        floor = max(size / bandwidth, 2 * parameters * width / throughput)
        rows.append({"width": width, "ms": 1e3 * took, "floor_ms": 1e3 * floor, "over_floor": took / floor})
    return rows


def _weights(pair: Pair) -> list[torch.Tensor]:
    target = pair.target
    blocks = [linear.weight for block in target.layers for linear in block.linears]  # type: ignore[attr-defined]
    return [target.head_rows(), *blocks]


def _graph(step: Callable[[], None]) -> Callable[[], None]:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def strategies(pair: Pair, names: str, max_tokens: int) -> list[dict[str, object]]:
    """Tokens/s after the prefill, tau, parts of a round in ms, and equality with plain, for each strategy."""
    prompts = [pair.tokenizer.encode_chat(text) for text in PROMPTS]
    capacity = max(map(len, prompts)) + max_tokens
    decoders = {str(s): new_decoder(pair, s, capacity=capacity) for s in parse_strategies(names)}
    for decoder in decoders.values():
        list(decoder.generate(prompts[0], Sampling(16)))
    sampling = Sampling(max_tokens, stop=pair.stop)
    runs: dict[str, list[tuple[float, list[Round]]]] = {name: [] for name in decoders}
    for prompt in prompts:
        for name, decoder in decoders.items():
            runs[name].append(_run(decoder, prompt, sampling))
    plain = [[t for r in rounds for t in r.tokens] for _, rounds in runs["plain"]]
    rows: list[dict[str, object]] = []
    for name, done in runs.items():
        after = [r for _, rounds in done for r in rounds[1:]]
        tokens = sum(len(r.tokens) for r in after)
        rows.append({
            "strategy": name,
            "tokens_per_s": tokens / sum(took for took, _ in done),
            "tau": sum(r.accepted + 1 for r in after) / len(after),
            "identical": [[t for r in rounds for t in r.tokens] for _, rounds in done] == plain,
            **{
                part: 1e3 * statistics.mean(getattr(r.seconds, part) for r in after)
                for part in ("draft", "tree", "verify", "commit")
            },
        })  # fmt: skip
    for row in rows:
        row["speedup"] = row["tokens_per_s"] / rows[0]["tokens_per_s"]  # type: ignore[operator]
    return rows


def _run(decoder: Decoder, prompt: list[int], sampling: Sampling) -> tuple[float, list[Round]]:
    rounds = decoder.generate(prompt, sampling)
    first = next(rounds)
    start = time.perf_counter()
    rest = list(rounds)
    return time.perf_counter() - start, [first, *rest]


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--strategies", default="plain,dflash,ddtree:8,ddtree:15,ddtree:32,ddtree:64,ddtree:128")
    parser.add_argument("--max-tokens", type=int, default=96)
    args = parser.parse_args()
    pair = load_embedded(args.device, args.dtype)
    bandwidth, throughput = ceilings(pair.target.device, pair.target.dtype)
    result = {
        "device": torch.cuda.get_device_name() if args.device == "cuda" else f"{torch.get_num_threads()} threads",
        "dtype": args.dtype,
        "torch": torch.__version__,
        "bandwidth_gb_s": bandwidth / 1e9,
        "throughput_tflop_s": throughput / 1e12,
        "forward": forward_times(pair, bandwidth, throughput),
        "strategies": strategies(pair, args.strategies, args.max_tokens),
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
