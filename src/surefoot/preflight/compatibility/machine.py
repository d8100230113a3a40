"""What the machine itself must bring: driver, shared memory, links, RAM."""

from __future__ import annotations

import re
from collections.abc import Iterator

from surefoot.evidence import Fact, Finding, Level
from surefoot.machines import Origin
from surefoot.preflight.case import Case
from surefoot.preflight.memory.parts import GIB
from surefoot.units import both

DRIVERS = {13: 580, 12: 525}
"""CUDA major version -> oldest driver branch that runs it (CUDA release notes, minor version compatibility)."""
SHARED_MEMORY = GIB
"""NCCL moves data through /dev/shm between ranks without P2P; containers start with 64 MiB."""


def judge_machine(case: Case) -> Iterator[Finding]:
    """Findings about the host; for a machine of the catalog, one that says what was not seen."""
    machine = case.host.machine
    if machine.accelerators is None and case.engine.kind != "surefoot":
        message = f"the GPUs of {machine.name} are unknown: {machine.why_unknown('accelerators')}"
        yield Finding(Level.UNKNOWN, "gpus-unknown", message, remedy="surefoot probe HOST -o machine.json")
        return
    if machine.accelerators is not None and not machine.accelerators.gpus and case.engine.kind != "surefoot":
        message = f"{machine.name} has no GPU, {case.engine.kind} needs one here"
        yield Finding(Level.BLOCKER, "no-gpu", message, remedy="plan for another machine with --on")
        return
    if machine.origin is Origin.CATALOG:
        message = f"{machine.name} is planned from data sheets: driver, RAM, shared memory and links were not seen"
        yield Finding(
            Level.WARNING, "host-not-seen", message, remedy="surefoot probe HOST -o machine.json, then --on it"
        )
    else:
        yield from _driver(case)
        yield from _shared_memory(case)
        yield from _busy(case)
    yield from _links(case)
    if case.host.engines_unknown:
        yield Finding(Level.UNKNOWN, "engines-unknown", f"the host's engines are unknown: {case.host.engines_unknown}")


def _driver(case: Case) -> Iterator[Finding]:
    accelerators = case.host.machine.accelerators
    cuda = case.engine.cuda or _cuda_of_torch(case)
    if accelerators is None or not accelerators.gpus or cuda is None:
        return
    if accelerators.driver is None:
        yield Finding(Level.UNKNOWN, "driver-unknown", "the driver's version is unknown", remedy="nvidia-smi")
        return
    needed = DRIVERS.get(int(cuda.split(".")[0]))
    branch = int(re.split(r"\D", accelerators.driver)[0] or 0)
    fact = Fact("driver", accelerators.driver, accelerators.source)
    if needed is not None and branch < needed:
        message = f"CUDA {cuda} needs driver {needed} or newer, this one is {accelerators.driver}"
        yield Finding(Level.BLOCKER, "driver-too-old", message, (fact,), "a newer driver, or a build for an older CUDA")
    elif needed is not None:
        yield Finding(Level.OK, "driver", f"driver {accelerators.driver} runs CUDA {cuda}", (fact,))


def _cuda_of_torch(case: Case) -> str | None:
    """PyTorch wheels of 2.11 and later are built for CUDA 13 by default."""
    version = (case.engine.packages or {}).get("torch", "")
    match = re.match(r"(\d+)\.(\d+)", version)
    return "13.0" if match and (int(match[1]), int(match[2])) >= (2, 11) else None


def _shared_memory(case: Case) -> Iterator[Finding]:
    memory = case.host.machine.memory
    if case.options.gpus < 2 or memory is None or memory.shm_total is None:
        return
    fact = Fact("/dev/shm", memory.shm_total, "df /dev/shm")
    if memory.shm_total < SHARED_MEMORY:
        message = f"/dev/shm has {both(memory.shm_total)}: NCCL needs more between {case.options.gpus} ranks"
        yield Finding(Level.BLOCKER, "shared-memory-small", message, (fact,), "docker run --ipc=host or --shm-size 32g")
    limits = case.host.machine.limits
    if limits is not None and limits.memlock_soft is not None and limits.memlock_soft < GIB:
        message = f"memlock is limited to {both(limits.memlock_soft)}: pinned buffers may fail"
        yield Finding(Level.WARNING, "memlock-small", message, remedy="ulimit -l unlimited, or --ulimit memlock=-1")


def _busy(case: Case) -> Iterator[Finding]:
    for gpu in case.gpus[: case.options.gpus]:
        total, free = gpu.memory_total, gpu.memory_free
        if total and free is not None and free < 0.95 * total:
            names = ", ".join(f"{p.name or 'a process'} ({p.pid})" for p in gpu.processes or ()) or "others"
            message = f"GPU {gpu.index} has {both(total - free)} in use by {names}"
            fact = Fact("memory_free", free, "the driver")
            yield Finding(Level.WARNING, "gpu-in-use", message, (fact,), "stop them, or plan with what is free")


def _links(case: Case) -> Iterator[Finding]:
    accelerators = case.host.machine.accelerators
    if accelerators is None or case.options.gpus < 3 or not accelerators.links:
        return
    kinds = {link.kind for link in accelerators.links}
    fact = Fact("links", ", ".join(sorted(kinds)), accelerators.source)
    if "nvlink" not in kinds:
        message = f"{case.options.gpus} GPUs over PCIe: custom all-reduce is off for more than two, NCCL carries it"
        yield Finding(Level.NOTE, "pcie-all-reduce", message, (fact,))
    blocked = [link for link in accelerators.links if link.p2p is False]
    if blocked:
        message = f"P2P is off between {len(blocked)} pairs of GPUs: all-reduce goes through host memory"
        yield Finding(Level.WARNING, "p2p-off", message, (fact,), "check IOMMU and ACS settings")
