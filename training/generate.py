"""Training text: the target writes its own user turns and answers them. No benchmark prompt enters."""

from __future__ import annotations

import ast
import random
import re
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from engine import Engine, Request
from target import VOCAB, Target

SYSTEM = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
USER, ANSWER = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
STOPS = (0, 1, 2)

OPEN = ["", "", "", "", "What", "How", "Why", "Can you", "I", "Explain", "Describe", "Write a", "Write an", "Give me",
        "List", "Tell me", "What is", "What are", "How do I", "How does", "Is it", "Plan a", "Suggest", "Compare",
        "Create a", "Imagine", "Help me", "Who", "When", "Where", "Should I", "Do you", "Please", "Hi", "Could you",
        "Write an email", "Write a short story", "Write a poem", "What causes", "Explain to a child", "Give three",
        "What is the difference between", "Design a", "Recommend"]  # fmt: skip
MATHS = ["A shop", "A train", "If", "Solve", "What is the sum of", "Calculate", "Find the", "How many", "Tom has",
         "A rectangle", "The price of", "Sarah", "Simplify", "Evaluate", "Compute", "John buys", "A farmer",
         "What is the area", "Convert", "There are", "Let x"]  # fmt: skip
TEXT = ["Summarize the following text:\n\n", "Summarize this article in three sentences.\n\n", "Rewrite this text:\n\n",
        "Make this text more concise.\n\n", "Translate to French:", "Correct the grammar:", "Summarize:",
        "Extract the key points from the text below.\n\n", "Read the passage and answer the question.\n\n",
        "What is the main idea of this passage?\n\n", "Turn this into a list:\n\n"]  # fmt: skip
ASK_CODE = ["Write a Python function", "Write a Python function that", "Write a function to", "Write a program",
            "Implement a", "In Python, how do I", "Write a Python class", "Write code that", "Fix the bug in this code",
            "Explain this code:\n\n```python\n", "Write a Python script", "How can I", "Write a SQL query",
            "Write a JavaScript function", "Write a unit test for", "Using Python, write",
            "Write a Python function that takes a list", "Write a Python function that takes a string",
            "Write a function that returns"]  # fmt: skip
IMPORTS = ["", "", "", "from typing import List\n\n\n", "import math\n\n\n", "from typing import List, Tuple\n\n\n",
           "from typing import Dict, List, Optional\n\n\n", "import re\n\n\n", "import collections\n\n\n"]  # fmt: skip
NAMES = ["", "", "", "", "", "is_", "count_", "find_", "get_", "sum_", "sort_", "remove_", "max_", "check_", "to_",
         "reverse_", "filter_", "compute_", "has_", "make_", "split_", "merge_", "longest_", "all_", "parse_",
         "encode_", "largest_", "prime_", "next_", "string_", "list_", "digit_"]  # fmt: skip
WRAP = ["Complete the following Python function.\n```python\n%s```", "Complete this function:\n\n%s", "%s",
        "Write the body of this Python function:\n\n%s", "Implement this function in Python.\n\n%s\nExplain your code.",
        "```python\n%s```\nFinish the code.", "Please complete the code below.\n\n```python\n%s```",
        "Complete the following Python code. Return the whole function.\n```python\n%s```"]  # fmt: skip


def distinct4(ids: list[int]) -> float:
    """Share of distinct 4-grams: near 0 for text that loops."""
    grams = list(zip(ids, ids[1:], ids[2:], ids[3:], strict=False))
    return len(set(grams)) / max(1, len(grams))


def library_functions(rng: random.Random, most: int) -> list[str]:
    """Headers with docstrings of functions of the Python standard library."""
    root, found = Path(ast.__file__).parent, []
    for path in sorted(root.rglob("*.py")):
        if {"site-packages", "dist-packages", "test", "tests", "idlelib"} & set(path.parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            doc = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            if isinstance(node, ast.FunctionDef) and doc and 20 < len(doc) < 600:
                returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
                text = doc.replace("\n", "\n    ")
                head = f'def {node.name}({ast.unparse(node.args)}){returns}:\n    """{text}\n    """\n'
                found.append(head)
    rng.shuffle(found)
    return found[:most]


def cut_stub(text: str) -> str | None:
    """A function header up to the end of its docstring, out of text the target wrote."""
    match = re.search(r"def \w+\([^\n]*\)[^\n]*:\n", text)
    if match is None:
        return None
    rest = text[match.end() :]
    quote = re.match(r'\s+("""|\'\'\')', rest)
    if quote is None:
        return text[: match.end()]
    end = rest.find(quote.group(1), quote.end())
    return None if end < 0 else text[: match.end()] + rest[: end + 3] + "\n"


@dataclass
class Corpus:
    """Prompt and answer ids, flat."""

    prompts: list[np.ndarray] = field(default_factory=list)
    answers: list[np.ndarray] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)

    def add(self, prompt: list[int], answer: list[int], kind: str) -> None:
        self.prompts.append(np.array(prompt, dtype=np.int32))
        self.answers.append(np.array(answer, dtype=np.int32))
        self.kinds.append(kind)

    def tokens(self) -> int:
        return sum(len(a) for a in self.answers)

    def frequent(self, most: int) -> list[int]:
        counts = np.bincount(np.concatenate(self.answers), minlength=VOCAB)
        return np.argsort(-counts, kind="stable")[:most].tolist()


class Author:
    """Draws requests for the engine and files what comes back."""

    def __init__(self, tokenizer: Any, seed: int, answer_limit: int, prompt_limit: int = 288) -> None:
        self.rng, self.tokenizer, self.memo = random.Random(seed), tokenizer, {}
        self.answer_limit, self.prompt_limit = answer_limit, prompt_limit
        self.functions = library_functions(self.rng, 20_000)
        self.queue: deque[Request] = deque()
        self.corpus, self.dropped, self.seen = Corpus(), Counter[str](), Counter[str]()

    def encode(self, text: str) -> list[int]:
        if text not in self.memo:
            if len(self.memo) > 20_000:
                self.memo.clear()
            self.memo[text] = self.tokenizer.encode(text).ids
        return list(self.memo[text])

    def answer_request(self, prompt: list[int], kind: str) -> Request:
        greedy = self.rng.random() < 0.85
        return Request(prompt, self.answer_limit, 0.0 if greedy else self.rng.choice([0.5, 0.7, 1.0]), f"answer:{kind}")

    def system(self) -> str:
        return SYSTEM if self.rng.random() < 0.5 else ""

    def draw(self) -> Request:
        if self.queue:
            return self.queue.popleft()
        rng, x = self.rng, self.rng.random()
        if x < 0.16:
            function = rng.choice(self.functions)
            if rng.random() < 0.2:
                return self.answer_request(self.encode(function)[: self.prompt_limit], "library-raw")
            text = self.system() + USER + rng.choice(WRAP) % function + ANSWER
            prompt = self.encode(text)
            if len(prompt) > self.prompt_limit:
                return self.draw()
            return self.answer_request(prompt, "library")
        if x < 0.40:
            start = rng.choice(IMPORTS) + "def " + rng.choice(NAMES)
            lead = USER + "Complete the following Python function.\n```python\n"
            return Request(self.encode(lead + start), 140, rng.choice([0.8, 1.0]), f"stub:{start}")
        kind, starts = next(
            (k, s)
            for limit, k, s in [(0.55, "code", ASK_CODE), (0.67, "maths", MATHS), (0.77, "text", TEXT), (1, "chat", OPEN)]
            if x < limit
        )
        return Request(self.encode(self.system() + USER + rng.choice(starts)), 160, 1.0, f"user:{kind}")

    def finished(self, request: Request) -> None:
        stage, _, kind = request.kind.partition(":")
        self.seen[stage] += len(request.answer)
        ids = request.answer
        if stage == "stub":
            stub = cut_stub(kind + self.tokenizer.decode(ids, skip_special_tokens=True))
            if stub is None or len(stub) < 40:
                self.dropped["stub"] += 1
                return
            raw = self.rng.random() < 0.15
            text = stub if raw else self.system() + USER + self.rng.choice(WRAP) % stub + ANSWER
            prompt = self.encode(text)
            if len(prompt) <= self.prompt_limit:
                self.queue.append(self.answer_request(prompt, "stub-raw" if raw else "stub"))
        elif stage == "user":
            turn = ids[:-1] if ids and ids[-1] in STOPS else ids
            if len(turn) < 2 or distinct4(turn) < 0.5:
                self.dropped["user"] += 1
                return
            prompt = request.prompt + turn + self.encode(ANSWER)
            if len(prompt) <= self.prompt_limit:
                self.queue.append(self.answer_request(prompt, kind))
        else:
            if len(ids) < 12 or distinct4(ids) < 0.5:
                self.dropped["loop"] += 1
                return
            self.corpus.add(request.prompt, ids, kind)
            whole = request.prompt + ids
            if ids[-1] == 2 and len(whole) < 200 and "raw" not in kind and self.rng.random() < 0.15:
                more = [*whole, *self.encode("\n" + USER)]
                self.queue.append(Request(more, 100, 1.0, f"user:{kind}"))


def write_corpus(
    target: Target, tokenizer: Any, seconds: float, slots: int, room: int, answer_limit: int, seed: int = 0
) -> Corpus:
    start, fast = time.monotonic(), target.device.type == "cuda"
    author = Author(tokenizer, seed, answer_limit, min(288, room - 64))
    engine = Engine(target, slots, room, answer_limit, STOPS, cut_loops=True, fast=fast)
    print(f"engine ready {time.monotonic() - start:.0f}s, {len(author.functions)} library functions", flush=True)
    start, last = time.monotonic(), time.monotonic()

    def finished(request: Request) -> None:
        nonlocal last
        author.finished(request)
        if time.monotonic() - last > 20:
            last = time.monotonic()
            seen = sum(author.seen.values())
            rate = seen / (last - start)
            print(f"  {last - start:.0f}s decoded {seen / 1e6:.1f}M ({rate / 1e3:.0f}k/s) kept "
                  f"{author.corpus.tokens() / 1e6:.2f}M dropped {dict(author.dropped)}", flush=True)  # fmt: skip

    engine.run(author.draw, finished, deadline=start + seconds)
    corpus = author.corpus
    kinds = Counter(corpus.kinds)
    print(f"corpus {len(corpus.answers)} answers {corpus.tokens()} tokens {dict(kinds)} "
          f"dropped {dict(author.dropped)} decoded {dict(author.seen)}", flush=True)  # fmt: skip
    for i in range(0, len(corpus.answers), max(1, len(corpus.answers) // 6)):
        print(repr(tokenizer.decode(corpus.prompts[i].tolist(), skip_special_tokens=False))[-220:], "=>",
              repr(tokenizer.decode(corpus.answers[i].tolist()))[:160], file=sys.stdout, flush=True)  # fmt: skip
    return corpus
