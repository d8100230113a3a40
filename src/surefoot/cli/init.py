"""`surefoot init`: write surefoot.toml by three questions, or none with flags."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("init")
@click.argument("model", required=False)
@click.option("--draft", help="The drafter; '' for none.")
@click.option("--on", "machine", metavar="HOST", help="A host, a machine.json, or a name of the catalog.")
@click.option("--engine", metavar="NAME[==VERSION]", help="sglang, vllm or surefoot.")
@click.option("--strategy", help="Strategies, with commas.")
@click.option(
    "--context", type=click.IntRange(1), default=8192, show_default=True, help="Tokens of the longest request."
)
@click.option("--concurrency", type=click.IntRange(1), default=1, show_default=True, help="Requests at once.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default=Path("surefoot.toml"))
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def command(
    model: str | None,
    draft: str | None,
    machine: str | None,
    engine: str | None,
    strategy: str | None,
    context: int,
    concurrency: int,
    output: Path,
    force: bool,
) -> None:
    """Write the one file of a deployment. What no flag tells is asked for."""
    from surefoot.errors import UsageError
    from surefoot.preflight.deployment import (
        Deployment,
        EngineEntry,
        MachineEntry,
        ModelEntry,
        StrategiesEntry,
        write_deployment,
    )
    from surefoot.preflight.options import Workload

    if output.exists() and not force:
        raise UsageError(f"{output} is there already", remedy="--force, or another name with -o")
    model = model or click.prompt("Which model (repository id, folder, snapshot)")
    if draft is None:
        draft = click.prompt("Which drafter (nothing for none)", default="", show_default=False)
    machine = machine or click.prompt("On which machine (host, machine.json, catalog name)", default="localhost")
    deployment = Deployment(
        target=ModelEntry(model),
        drafter=ModelEntry(draft) if draft else None,
        machine=MachineEntry(machine),
        engine=EngineEntry(engine),
        strategies=StrategiesEntry(tuple(strategy.split(",")) if strategy else ()),
        workload=Workload(context, concurrency),
    )
    write_deployment(output, deployment)
    click.echo(f"written to {output}; judge it with: surefoot check")
