"""A real H200 host, recorded: the probe's own answer and nvidia-smi's (serial number and UUID blanked)."""

from __future__ import annotations

from pathlib import Path

from surefoot.asking import read_answer
from surefoot.hosts import Host, host_from_answer, read_host, write_host
from surefoot.machines.probe.nvidia_smi import parse_query

RECORDED = Path(__file__).parent / "recorded"


def recorded_host() -> Host:
    return host_from_answer("h200", read_answer((RECORDED / "h200.answer").read_bytes(), "h200"))


def test_the_answer_describes_the_machine(tmp_path: Path) -> None:
    host = recorded_host()
    machine = host.machine
    assert machine.accelerators is not None
    assert machine.processor is not None
    (gpu,) = machine.accelerators.gpus
    assert (gpu.name, gpu.sm, gpu.memory_total) == ("NVIDIA H200", 90, 143_771 * 2**20)
    assert (gpu.pcie_generation, gpu.pcie_width, gpu.power_limit_w) == (5, 16, 700.0)
    assert (machine.accelerators.driver, machine.accelerators.cuda) == ("580.159.04", "13.0")
    assert machine.processor.cores == 16
    write_host(tmp_path / "h200.json", host)
    assert read_host(tmp_path / "h200.json") == host


def test_nvidia_smi_tells_the_same_as_nvml() -> None:
    accelerators = recorded_host().machine.accelerators
    assert accelerators is not None
    found = parse_query((RECORDED / "h200.nvidia-smi.xml").read_text(encoding="utf-8"))
    assert (found["driver"], found["cuda"]) == (accelerators.driver, accelerators.cuda)
    (gpu,), (nvml,) = found["gpus"], accelerators.gpus
    assert abs(gpu["memory_total"] - nvml.memory_total) < 2**20
    for name in ("name", "uuid", "ecc", "mig", "power_limit_w", "pcie_generation", "pcie_width"):
        assert gpu[name] == getattr(nvml, name)
