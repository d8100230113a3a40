"""A host on the terminal: a machine in a screenful, and what is unknown about it."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from surefoot.engines import Engine
from surefoot.hosts import Host
from surefoot.machines import Gpu, Machine
from surefoot.machines.parts import CachedModel
from surefoot.units import binary, both


def show_host(host: Host, console: Console | None = None) -> None:
    """Print the summary of a host."""
    console = console or Console()
    machine = host.machine
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _rows(machine):
        table.add_row(name, escape(text))
    console.print(table)
    _show_engines(host, console)
    for entry in machine.unknown:
        console.print(f"[yellow]unknown[/yellow]  {entry.part}: {escape(entry.reason)}")


def _show_engines(host: Host, console: Console) -> None:
    if host.engines is None:
        console.print(f"[yellow]unknown[/yellow]  engines: {escape(host.engines_unknown or 'not asked for')}")
        return
    if not host.engines.installed:
        console.print("[bold]engines[/bold]  none found")
    for engine in host.engines.installed:
        console.print(
            f"\n[bold]{engine.kind} {engine.version or 'of unknown version'}[/bold]  {escape(engine.package)}"
        )
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for name, text in _engine_rows(engine):
            table.add_row(f"  {name}", escape(text))
        console.print(table)
    for process in host.engines.running:
        console.print(
            f"[bold]running[/bold]  {process.kind}, process {process.pid}:",
            escape(" ".join(process.arguments)),
        )


def _engine_rows(engine: Engine) -> list[tuple[str, str]]:
    rows = []
    if engine.packages:
        rows.append(("with", ", ".join(f"{name} {version}" for name, version in engine.packages.items())))
    if engine.attention_backends is not None:
        rows.append(("attention", " ".join(engine.attention_backends)))
        unregistered = set(engine.attention_backend_choices or ()) - set(engine.attention_backends)
        if unregistered:
            rows.append(("", f"choosable but not registered: {' '.join(sorted(unregistered))}"))
    if engine.architectures is not None:
        capturing = sum(a.captures_hidden_states for a in engine.architectures)
        rows.append(("models", f"{len(engine.architectures)} architectures, {capturing} can feed a DFlash drafter"))
    if engine.speculative_algorithms is not None:
        others = {True: "; others can register", False: "; no others can register"}
        note = others.get(engine.out_of_tree_algorithms, "") if engine.out_of_tree_algorithms is not None else ""
        rows.append(("speculative", " ".join(engine.speculative_algorithms) + note))
    if engine.quantization is not None:
        rows.append(("quantization", " ".join(q.name for q in engine.quantization)))
    if engine.plugins:
        rows.append(("plugins", ", ".join(f"{p.name} ({p.group})" for p in engine.plugins)))
    rows += [("unknown", f"{entry.part}: {entry.reason}") for entry in engine.unknown]
    return rows


def _rows(machine: Machine) -> list[tuple[str, str]]:
    rows = [("machine", _system(machine))]
    if machine.accelerators is not None:
        rows += _gpus(machine)
    if machine.processor is not None:
        cpu = machine.processor
        rows.append(("processor", f"{cpu.model or 'unknown'}, {cpu.cores} cores, {cpu.usable_threads} threads usable"))
    if machine.memory is not None:
        memory = machine.memory
        text = both(memory.total)
        if memory.available is not None:
            text += f", {binary(memory.available)} available"
        if memory.limit is not None:
            text += f", limited to {both(memory.limit)}"
        if memory.shm_total is not None:
            text += f", /dev/shm {binary(memory.shm_total)}"
        rows.append(("memory", text))
    for disk in machine.disks or ():
        note = "" if disk.exists else ", not there yet"
        rows.append((disk.role, f"{both(disk.free)} free at {disk.path} ({disk.filesystem or 'unknown'}{note})"))
    if machine.hub is not None:
        token = f"token in {machine.hub.token_source}" if machine.hub.token_source else "no token"
        rows.append(("hub", f"{len(machine.hub.models)} models cached, {token}"))
        rows += [("", _cached(model)) for model in machine.hub.models]
    if machine.runtimes:
        rows.append(("containers", ", ".join(f"{r.name} ({r.version})" for r in machine.runtimes)))
    return rows


def _system(machine: Machine) -> str:
    system = machine.system
    if system is None:
        return machine.name
    words = [machine.name, system.distribution, f"kernel {system.kernel}", system.architecture]
    if system.container:
        words.append(f"in {system.container}")
    return ", ".join(word for word in words if word)


def _gpus(machine: Machine) -> list[tuple[str, str]]:
    assert machine.accelerators is not None
    gpus = machine.accelerators.gpus
    if not gpus:
        return [("GPUs", "none")]
    rows = []
    for text, count in Counter(_gpu(gpu) for gpu in gpus).items():
        rows.append(("GPUs", f"{count}x {text}"))
    driver = machine.accelerators.driver or "unknown"
    rows.append(("driver", f"{driver}, CUDA {machine.accelerators.cuda or 'unknown'}"))
    links = Counter(f"{link.kind} {link.path or ''}".strip() for link in machine.accelerators.links)
    if links:
        rows.append(("links", ", ".join(f"{count} pairs over {text}" for text, count in links.items())))
    busy = [f"GPU {gpu.index}: {p.name or p.pid}" for gpu in gpus for p in gpu.processes or ()]
    if busy:
        rows.append(("in use by", ", ".join(busy)))
    return rows


def _gpu(gpu: Gpu) -> str:
    words = [gpu.name]
    if gpu.sm is not None:
        words.append(f"SM {gpu.sm}")
    if gpu.unified_memory:
        words.append("memory shared with the host")
    elif gpu.memory_total is not None:
        words.append(both(gpu.memory_total))
    if gpu.pcie_generation is not None:
        words.append(f"PCIe {gpu.pcie_generation} x{gpu.pcie_width}")
    if gpu.nvlinks:
        words.append(f"{gpu.nvlinks} NVLinks")
    return ", ".join(words)


def _cached(model: CachedModel) -> str:
    states = [f"{revision.commit[:8]} {revision.state} {binary(revision.bytes)}" for revision in model.revisions]
    if model.partial_files:
        states.append(f"{model.partial_files} cut-off downloads")
    return f"{model.repo}: {', '.join(states) or 'empty'}"
