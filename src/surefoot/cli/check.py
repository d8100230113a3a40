"""`surefoot check`: go or no-go, the budget, the reasons, the command."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from surefoot.preflight.answer import Answer
    from surefoot.preflight.deployment import Deployment


@click.command("check")
@click.argument("model", required=False)
@click.option("--draft", help="The drafter.")
@click.option("--revision", help="Branch, tag or commit of MODEL on the hub.")
@click.option("--on", "machine", metavar="HOST", help="A host, a machine.json, or a name of the catalog.")
@click.option("--engine", metavar="NAME[==VERSION]", help="sglang, vllm or surefoot.  [default: what HOST has]")
@click.option("--strategy", help="plain, dflash, ddtree:B, or several with commas.")
@click.option("--context", type=click.IntRange(1), help="Tokens of the longest request.  [default: 8192]")
@click.option("--concurrency", type=click.IntRange(1), help="Requests at once.  [default: 1]")
@click.option("--tp", type=click.IntRange(1), help="Tensor parallel size.  [default: as many GPUs as fit]")
@click.option("--attention-backend", help="Judge this backend instead of choosing one.")
@click.option("--kv-cache-dtype", help="auto, bf16, fp8_e4m3 or fp8_e5m2.")
@click.option("--memory-fraction", type=click.FloatRange(0, 1, min_open=True), help="Judge this fraction.")
@click.option("--disk-free", metavar="SIZE", help="Free space, such as '593 GB'; a bare 593 is judged both ways.")
@click.option("--image", "image", metavar="SIZE", help="Size of a container image to pull, such as '18 GB'.")
@click.option("--compare", metavar="HOST,…", help="Machines (or engines, as sglang==…) to put side by side.")
@click.option("--explain", is_flag=True, help="Show all evidence.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@click.option("--schema", "print_schema", is_flag=True, help="Print the JSON Schema of the answer.")
@click.option(
    "--config", type=click.Path(dir_okay=False, path_type=Path), help="A deployment.  [default: surefoot.toml]"
)
@click.option("--ask-engine", is_flag=True, help="Let the SGLang on HOST resolve the planned command.")
@click.option("--ssh-config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="For ssh -F.")
def command(**given: Any) -> None:
    """Go or no-go: does MODEL run on HOST with this drafter and engine, and how is it launched?

    Without MODEL, surefoot.toml says what to judge, and surefoot.lock.json pins what was found. Exit code: 0 go
    (perhaps with changes), 1 no-go, 3 something that matters is unknown.
    """
    from rich.console import Console

    from surefoot.records import schema, to_json
    from surefoot.reports.check import show_answer, show_comparison

    if given["print_schema"]:
        from surefoot.preflight.answer import Answer

        click.echo(to_json(schema(Answer)).decode(), nl=False)
        return
    deployment, locked = _deployment(given)
    answers = _answers(deployment, given, locked)
    if given["as_json"]:
        click.echo(to_json(answers[0] if given["compare"] is None else answers).decode(), nl=False)
    elif given["compare"] is None:
        show_answer(Console(highlight=False), answers[0], explain=given["explain"])
    else:
        show_comparison(Console(highlight=False), answers)
    if locked is not None and not given["as_json"]:
        click.echo(f"\npinned in {locked}", err=True)
    sys.exit(max(answer.verdict.exit_code for answer in answers))


def _deployment(given: dict[str, Any]) -> tuple[Deployment, Path | None]:
    """What to judge: the flags over the file, and where to write the lock when a file was read."""
    from surefoot.errors import UsageError
    from surefoot.preflight.deployment import FILE, LOCK, Deployment, ModelEntry, read_deployment

    path = given["config"] or Path(FILE)
    locked = None
    if given["model"] is not None:
        base = Deployment(ModelEntry(given["model"], given["revision"]))
    elif given["config"] is None and not path.is_file():
        raise UsageError("which model?", remedy=f"name one, or write a {FILE} with surefoot init")
    else:
        base = read_deployment(path)
        locked = path.with_name(LOCK) if path.name == FILE else path.with_suffix(".lock.json")
    if given["draft"]:
        base = replace(base, drafter=ModelEntry(given["draft"]))
    if given["machine"] or given["disk_free"]:
        on, free = given["machine"] or base.machine.on, given["disk_free"] or base.machine.disk_free
        base = replace(base, machine=replace(base.machine, on=on, disk_free=free))
    if given["engine"]:
        base = replace(base, engine=replace(base.engine, use=given["engine"]))
    if given["strategy"]:
        base = replace(base, strategies=replace(base.strategies, run=tuple(given["strategy"].split(","))))
    context, concurrency = given["context"] or base.workload.context, given["concurrency"] or base.workload.concurrency
    base = replace(base, workload=replace(base.workload, context=context, concurrency=concurrency))
    names = {"tp": "tensor_parallel", "attention_backend": "attention_backend"}
    names |= {"kv_cache_dtype": "kv_cache_dtype", "memory_fraction": "memory_fraction"}
    fixed = {name: given[flag] for flag, name in names.items() if given[flag] is not None}
    return replace(base, options=replace(base.options, **fixed)), locked


def _answers(deployment: Deployment, given: dict[str, Any], locked: Path | None) -> list[Answer]:
    """One answer, or one for each machine or engine to compare."""
    from surefoot.asking import Asked
    from surefoot.hosts.find import find_host
    from surefoot.preflight.deployment import make_lock, write_lock
    from surefoot.preflight.disk import DiskPlan, read_free
    from surefoot.preflight.request import Request, answer
    from surefoot.units import parse_bytes

    free = deployment.machine.disk_free
    disk = DiskPlan(free=read_free(free) if free else (), image=parse_bytes(given["image"]) if given["image"] else 0)
    request = Request.read(deployment, disk)
    on, ssh_config = deployment.machine.on, given["ssh_config"]
    if given["compare"] is not None:
        found = []
        for name in given["compare"].split(","):
            engine = name if name.partition("==")[0] in ("sglang", "vllm", "surefoot") else deployment.engine.use
            host = find_host(on if engine == name else name, ssh_config=ssh_config)
            found.append(answer(request, host, engine))
        return found
    host = find_host(on, ssh_config=ssh_config)
    asked = Asked(None if on in ("localhost", "here") else on, None, ssh_config) if given["ask_engine"] else None
    result = answer(request, host, deployment.engine.use, asked)
    if locked is not None:
        packages = request.engine(host, deployment.engine.use).engine.packages or {}
        write_lock(locked, make_lock(result, host, request.target, request.drafter, packages))
    return [result]
