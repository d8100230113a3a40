"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from surefoot.decoding.pair import Pair


def decoding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where and how the embedded engine decodes: --device, --dtype, --threads, --temperature, --seed."""
    for option in (
        click.option("--seed", default=0, show_default=True, help="Seed of sampling."),
        click.option("--temperature", type=click.FloatRange(0), default=0.0, show_default=True, help="0 is greedy."),
        click.option("--threads", type=click.IntRange(1), help="CPU threads.  [default: torch's choice]"),
        click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), default="float32", show_default=True),
        click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True),
    ):
        command = option(command)
    return command


def load_pair(device: str, dtype: str, threads: int | None) -> Pair:
    """The embedded pair; explains how to install what is missing."""
    from surefoot.errors import MissingDependencyError

    try:
        import torch

        from surefoot.decoding.embedded import load_embedded
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"the embedded engine needs {error.name}, which is not installed", remedy="pip install 'surefoot[decode]'"
        ) from error
    if threads is not None:
        torch.set_num_threads(threads)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return load_embedded(device, dtype)
