"""`surefoot bench`: compare strategies, name the winner."""

from __future__ import annotations

import importlib.metadata
import platform
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from surefoot.cli.options import decoding_options, load_pair

if TYPE_CHECKING:
    from surefoot.benchmarks.answers import Answer, Conditions, Prompt
    from surefoot.decoding.pair import Pair

DEFAULT = "plain,dflash,ddtree:7,ddtree:15,ddtree:32"


@click.command()
@click.option("--strategies", default=DEFAULT, show_default=True, help="Comma-separated: plain, dflash, ddtree:B.")
@click.option("--prompts", metavar="SET|FILE", help="own, wide, humaneval, gsm8k, mt-bench, or a file.  [default: own]")
@click.option("--limit", type=click.IntRange(1), help="Use the first N prompts of each set.")
@click.option("--max-tokens", type=click.IntRange(1), default=48, show_default=True, help="Tokens of an answer.")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder.  [default: runs/<time>]")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write the whole run to this file.")
@decoding_options
def command(
    strategies: str,
    prompts: str | None,
    limit: int | None,
    max_tokens: int,
    out: Path | None,
    json_file: Path | None,
    device: str,
    dtype: str,
    threads: int | None,
    temperature: float,
    seed: int,
) -> None:
    """Decode with every strategy, check that outputs are the same, and say which is fastest here."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from surefoot.benchmarks.comparison import compare
    from surefoot.benchmarks.losslessness import find_divergences
    from surefoot.benchmarks.prompt_sets import load_prompts
    from surefoot.benchmarks.run_folder import BenchRun, RunFolder, new_run_path
    from surefoot.benchmarks.runner import measure
    from surefoot.decoding.rounds import Sampling
    from surefoot.decoding.strategy import parse_strategies
    from surefoot.errors import UsageError
    from surefoot.records import write_record
    from surefoot.reports.bench_table import render_bench

    chosen = parse_strategies(strategies)
    wanted = _limited(load_prompts(prompts), limit)
    notes = Console(stderr=True)
    pair = _loaded(notes, device, dtype, threads)
    from surefoot.decoding.factory import new_decoder

    encoded = [(p, pair.tokenizer.encode_chat(p.text) if p.chat else pair.tokenizer.encode(p.text)) for p in wanted]
    longest, ids = max(encoded, key=lambda request: len(request[1]))
    capacity = len(ids) + max_tokens
    if capacity > pair.context_length:
        raise UsageError(
            f"the prompt {longest.id} of {len(ids)} tokens and {max_tokens} new ones are more than the target's "
            f"context of {pair.context_length}",
            remedy="shorten it or lower --max-tokens",
        )
    decoders = {str(strategy): new_decoder(pair, strategy, capacity=capacity) for strategy in chosen}
    conditions = _conditions(pair, tuple(decoders), len(wanted), prompts, max_tokens, temperature, seed)
    folder = RunFolder(out or new_run_path(Path("runs")), conditions)
    answers: list[Answer] = []
    complete = True
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notes, transient=True) as progress:
        task = progress.add_task("decoding", total=len(wanted) * len(decoders))

        def keep(answer: Answer) -> None:
            folder.keep(answer)
            answers.append(answer)
            progress.update(task, advance=1, description=f"{answer.set} {answer.strategy}")

        sampling = Sampling(max_tokens, temperature, seed, pair.stop)
        try:
            measure(decoders, encoded, sampling, decode_text=pair.tokenizer.decode, keep=keep)
        except KeyboardInterrupt:
            complete = False
    greedy = temperature == 0
    judged = greedy and "plain" in decoders
    compared = find_divergences(answers, encoded, decoders["plain"], pair.dtype) if judged else ()
    run = BenchRun(conditions, compare(answers, compared, tuple(decoders), greedy=greedy), tuple(answers), complete)
    folder.finish(run)
    if json_file is not None:
        write_record(json_file, run)
    render_bench(run, Console())
    notes.print(f"run kept in {folder.path}", style="dim")
    if not complete:
        raise KeyboardInterrupt


def _limited(prompts: tuple[Prompt, ...], limit: int | None) -> list[Prompt]:
    """The first `limit` prompts of each set."""
    taken: dict[str, int] = {}
    kept = []
    for prompt in prompts:
        taken[prompt.set] = taken.get(prompt.set, 0) + 1
        if limit is None or taken[prompt.set] <= limit:
            kept.append(prompt)
    return kept


def _loaded(notes, device: str, dtype: str, threads: int | None) -> Pair:  # type: ignore[no-untyped-def]
    with notes.status("loading the embedded pair (the first start converts it, about 10 s)"):
        return load_pair(device, dtype, threads)


def _conditions(
    pair: Pair,
    strategies: tuple[str, ...],
    prompts: int,
    source: str | None,
    max_tokens: int,
    temperature: float,
    seed: int,
) -> Conditions:
    import torch

    from surefoot import __version__
    from surefoot.benchmarks.answers import Conditions

    return Conditions(
        target=pair.name,
        drafter=pair.drafter_name,
        engine=f"surefoot {__version__}",
        device=torch.cuda.get_device_name() if pair.device == "cuda" else _cpu_name(),
        dtype=pair.dtype,
        threads=torch.get_num_threads(),
        strategies=strategies,
        prompts=prompts,
        prompt_source=source or "own",
        max_tokens=max_tokens,
        temperature=temperature,
        seed=seed,
        command=shlex.join(["surefoot", *sys.argv[1:]]),
        started=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        versions={
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in ("torch", "tokenizers", "gguf", "safetensors")},
        },
    )


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
