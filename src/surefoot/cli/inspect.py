"""`surefoot inspect`: what a checkpoint is, and whether a drafter fits it."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("model")
@click.option("--draft", help="A drafter to hold against MODEL.")
@click.option("--revision", help="Branch, tag or commit of MODEL on the hub.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), help="Save what was read, without weights.")
@click.option("--facts", is_flag=True, help="Show every value and where it was read.")
@click.option("-v", "--verbose", is_flag=True, help="Log every request to the hub.")
def command(
    model: str,
    draft: str | None,
    revision: str | None,
    as_json: bool,
    save: Path | None,
    facts: bool,
    verbose: bool,
) -> None:
    """What MODEL is: a repository id, a folder, a .gguf, a config.json or a saved snapshot.

    Only small files and headers are read, never a weight. Exit code: 0 fine, 1 something blocks, 3 something
    that matters is unknown.
    """
    from surefoot.checkpoints.inspection import inspect, take_all
    from surefoot.records import to_json, write_record

    references = (model,) if draft is None else (model, draft)
    log = (lambda line: click.echo(line, err=True)) if verbose else None
    snapshots = take_all(references, revision, log)
    result = inspect(*snapshots)
    if save is not None:
        write_record(save, snapshots[0])
        if draft is not None:
            write_record(save.with_suffix(f".draft{save.suffix}"), snapshots[1])
    if as_json:
        click.echo(to_json(result).decode(), nl=False)
    else:
        from rich.console import Console

        from surefoot.reports.card import print_card

        print_card(Console(), result, facts=facts)
    sys.exit(result.verdict.exit_code)
