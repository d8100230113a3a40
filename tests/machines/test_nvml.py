"""NVML: what is none, what is broken, and, where there is a GPU, nvidia-smi as the oracle."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from surefoot.asking.commands import Unlearned
from surefoot.machines.probe.accelerators import accelerators
from surefoot.machines.probe.nvml import read_nvml


def test_no_nvml_is_unlearned() -> None:
    with pytest.raises(Unlearned, match="not installed"):
        read_nvml("libnvidia-ml-that-is-not-there.so.1")


def test_a_library_that_is_no_nvml_is_unlearned() -> None:
    with pytest.raises(Unlearned, match="is no NVML"):
        read_nvml("libc.so.6")


def test_a_gpu_that_nobody_can_ask_is_not_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "surefoot.machines.probe.accelerators"

    def fails(*_: object) -> None:
        raise Unlearned("Driver/library version mismatch")

    for reader in ("read_nvml", "read_nvidia_smi", "read_rocm_smi"):
        monkeypatch.setattr(f"{module}.{reader}", fails)
    monkeypatch.setattr(f"{module}._display_controllers", list)
    monkeypatch.setattr(f"{module}.driver_is_loaded", lambda: True)
    with pytest.raises(Unlearned, match="version mismatch"):
        accelerators({})
    monkeypatch.setattr(f"{module}.driver_is_loaded", lambda: False)
    monkeypatch.setattr(f"{module}.find", lambda name: None)
    monkeypatch.setattr("os.path.exists", lambda path: False)
    assert accelerators({})["gpus"] == []


@pytest.mark.gpu
def test_agrees_with_nvidia_smi() -> None:
    if shutil.which("nvidia-smi") is None:
        pytest.skip("needs a CUDA device")
    query = "index,uuid,name,memory.total,compute_cap,pcie.link.width.max"
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = read_nvml()
    assert len(found["gpus"]) == len(lines)
    for gpu, line in zip(found["gpus"], lines, strict=True):
        index, uuid, name, total, capability, width = [word.strip() for word in line.split(",")]
        assert (gpu["index"], gpu["uuid"], gpu["name"]) == (int(index), uuid, name)
        assert gpu["memory_total"] // 2**20 == int(total)
        assert gpu["sm"] == int(capability.replace(".", ""))
        assert gpu["pcie_width"] == int(width)
