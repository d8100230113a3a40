"""The GPUs of this host by the best way there is: NVML, then `nvidia-smi`, then `rocm-smi`."""

from __future__ import annotations

import os
from glob import glob
from typing import Any

from surefoot.asking.commands import Unlearned, find, read
from surefoot.machines.probe.nvidia_smi import read_nvidia_smi
from surefoot.machines.probe.nvml import driver_is_loaded, read_nvml
from surefoot.machines.probe.rocm_smi import read_rocm_smi

VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD"}


def accelerators(options: dict[str, Any]) -> dict[str, Any]:
    """GPUs, driver and links; no GPU at all is an answer, a GPU that cannot be asked is `Unlearned`."""
    reasons = []
    for reader in (read_nvml, read_nvidia_smi, read_rocm_smi):
        try:
            return reader()
        except Unlearned as error:
            reasons.append(str(error))
    seen = _display_controllers()
    if seen or driver_is_loaded() or find("nvidia-smi") or os.path.exists("/dev/kfd"):
        raise Unlearned("; ".join([*seen, *reasons]))
    return {"source": "none", "driver": None, "cuda": None, "gpus": [], "links": []}


def _display_controllers() -> list[str]:
    """PCI devices of class 03 (display) of a GPU vendor that no driver has answered for."""
    found = []
    for path in glob("/sys/bus/pci/devices/*"):
        vendor = VENDORS.get(read(path + "/vendor") or "")
        if vendor and (read(path + "/class") or "").startswith("0x03"):
            found.append(f"an {vendor} GPU is on the PCI bus at {os.path.basename(path)}")
    return sorted(found)
