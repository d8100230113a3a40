"""`surefoot probe`: what a machine and its engines are."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("probe")
@click.argument("host", required=False)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write machine.json here.")
@click.option("--python", metavar="PATH", help="The Python on that host to use (3.8 or newer).")
@click.option("--model-folder", metavar="PATH", help="A folder on that host whose free space matters.")
@click.option("--search", multiple=True, metavar="PATH", help="Look for engines below this folder too.")
@click.option("--ssh-config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="For ssh -F.")
@click.option("--json", "as_json", is_flag=True, help="Print machine.json instead of the summary.")
def command(
    host: str | None,
    output: Path | None,
    python: str | None,
    model_folder: str | None,
    search: tuple[str, ...],
    ssh_config: Path | None,
    as_json: bool,
) -> None:
    """Ask HOST (this machine without one) what it is and which engines it has.

    HOST is anything your ssh understands. Nothing is installed or written there.
    """
    from surefoot.asking import Asked
    from surefoot.hosts import probe, write_host
    from surefoot.records import to_json
    from surefoot.reports.host import show_host

    found = probe(Asked(host, python, ssh_config), model_folder=model_folder, search=search)
    if output is not None:
        write_host(output, found)
    if as_json:
        click.echo(to_json(found), nl=False)
    else:
        show_host(found)
        if output is not None:
            click.echo(f"written to {output}")
