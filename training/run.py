"""End to end: the target writes text, the drafter trains on it, tau is measured on held-out prompts."""

from __future__ import annotations

import argparse
import gc
import json
import random
import time
from pathlib import Path

import numpy as np
import torch
from drafter import Drafter, save
from drafter import load as load_drafter
from evaluate import evaluate
from generate import Corpus, write_corpus
from target import Target, build_tokenizer, read_gguf
from train import Settings, Trainer

TAPS = [2, 9, 16, 22, 27]


def split(corpus: Corpus, held: int) -> tuple[Corpus, Corpus]:
    order = list(range(len(corpus.answers)))
    random.Random(5).shuffle(order)
    parts = []
    for chosen in (order[held:], order[:held]):
        parts.append(Corpus(*([column[i] for i in chosen] for column in
                              (corpus.prompts, corpus.answers, corpus.kinds))))  # fmt: skip
    return parts[0], parts[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, required=True, help="SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data-seconds", type=float, default=220)
    parser.add_argument("--train-seconds", type=float, default=540)
    parser.add_argument("--slots", type=int, default=4096)
    parser.add_argument("--room", type=int, default=768, help="most tokens of one conversation")
    parser.add_argument("--answer", type=int, default=448, help="most tokens of one answer")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--block", type=int, default=8)
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--row-tokens", type=int, default=2048)
    parser.add_argument("--anchors", type=int, default=512)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--held", type=int, default=400, help="conversations kept out of training")
    parser.add_argument("--evaluate", type=int, default=1000, help="prompts of each evaluation set")
    parser.add_argument("--new", type=int, default=160)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--parts", type=int, default=1, help="files that the weights are split over")
    a = parser.parse_args()
    torch.manual_seed(0)
    np.random.seed(0)
    begin = time.monotonic()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    fast = device.type == "cuda"
    dtype = torch.bfloat16 if fast else torch.float32
    weights, tokens, merges = read_gguf(a.gguf)
    tokenizer = build_tokenizer(tokens, merges)
    target = Target(weights, dtype, device)
    if fast:
        target.compile()
    print(f"target loaded {time.monotonic() - begin:.0f}s", flush=True)

    corpus = write_corpus(target, tokenizer, a.data_seconds, a.slots, a.room, a.answer)
    a.out.mkdir(parents=True, exist_ok=True)
    (a.out / "frequent_ids.json").write_text(json.dumps(corpus.frequent(8192)) + "\n")
    if fast:
        gc.collect()
        torch.cuda.empty_cache()
        print(f"memory {torch.cuda.memory_allocated() / 2**30:.1f} GiB", flush=True)
    train, held = split(corpus, a.held)

    drafter = Drafter(a.layers, a.width, a.block, TAPS).to(device)
    print(f"drafter {sum(p.numel() for p in drafter.parameters()) / 1e6:.2f}M parameters", flush=True)
    settings = Settings(a.train_seconds, a.rows, a.row_tokens, a.anchors, a.rate)
    log = Trainer(target, drafter, settings, fast).run(train, held, a.out, a.parts)
    save(drafter, a.out, a.parts)
    print(f"trained {time.monotonic() - begin:.0f}s", flush=True)

    final = load_drafter(a.out).to(device).eval()  # as saved, rounded to bfloat16
    exact = Target(weights, torch.float32, device)
    tau = evaluate(exact, final, tokenizer, a.new, a.evaluate, [15, 32, 64, 128], a.workers)
    summary = {"arguments": {k: str(v) for k, v in vars(a).items() if k not in ("gguf", "out")},
               "tokens": corpus.tokens(), "answers": len(corpus.answers), "log": log[:: max(1, len(log) // 40)],
               "tau": tau}  # fmt: skip
    (a.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(f"done {time.monotonic() - begin:.0f}s", flush=True)


if __name__ == "__main__":
    main()
