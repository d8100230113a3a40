"""GPUs and their links through NVML, the driver's own library: exact bytes, no text to parse.

Function and constant names are those of NVIDIA's nvml.h.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from surefoot.asking.commands import Unlearned, read, read_int

SUCCESS = 0
NVLINKS = 18
PATHS = {0: "internal", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""nvmlGpuTopologyLevel_t, in the words of `nvidia-smi topo -m`."""
P2P_NVLINK, P2P_READ = 2, 0


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class _Pci(ctypes.Structure):
    _fields_ = [
        ("busIdLegacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("pciDeviceId", ctypes.c_uint),
        ("pciSubSystemId", ctypes.c_uint),
        ("busId", ctypes.c_char * 32),
    ]


class _Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("usedGpuMemory", ctypes.c_ulonglong),
        ("gpuInstanceId", ctypes.c_uint),
        ("computeInstanceId", ctypes.c_uint),
    ]


def read_nvml(library: str = "libnvidia-ml.so.1") -> dict[str, Any]:
    """Driver, CUDA, GPUs and links. Raises `Unlearned` when there is no NVML or it does not start."""
    try:
        nvml = ctypes.CDLL(library)
    except OSError:
        raise Unlearned(f"{library} is not installed") from None
    nvml.nvmlErrorString.restype = ctypes.c_char_p
    status = nvml.nvmlInit_v2()
    if status != SUCCESS:
        raise Unlearned(_complaint(nvml, status))
    try:
        count = ctypes.c_uint()
        _must(nvml, nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)))
        handles = []
        for index in range(count.value):
            handle = ctypes.c_void_p()
            _must(nvml, nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)))
            handles.append(handle)
        cuda = _number(nvml.nvmlSystemGetCudaDriverVersion_v2)
        return {
            "source": "nvml",
            "driver": _text(nvml.nvmlSystemGetDriverVersion),
            "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
            "gpus": [_gpu(nvml, index, handle) for index, handle in enumerate(handles)],
            "links": [
                _link(nvml, a, b, handles[a], handles[b])
                for a in range(len(handles))
                for b in range(a + 1, len(handles))
            ],
        }
    finally:
        nvml.nvmlShutdown()


def _gpu(nvml: Any, index: int, handle: Any) -> dict[str, Any]:
    memory, pci = _Memory(), _Pci()
    has_memory = nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == SUCCESS
    nvml.nvmlDeviceGetPciInfo_v3(handle, ctypes.byref(pci))
    major, minor = ctypes.c_int(), ctypes.c_int()
    known = nvml.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor))
    bus = pci.busId.decode("ascii", "replace").lower()
    power = _number(nvml.nvmlDeviceGetPowerManagementLimit, handle)
    nvlinks, generation = _nvlinks(nvml, handle)
    return {
        "index": index,
        "vendor": "nvidia",
        "name": _text(nvml.nvmlDeviceGetName, handle) or "unknown",
        "uuid": _text(nvml.nvmlDeviceGetUUID, handle),
        "sm": major.value * 10 + minor.value if known == SUCCESS else None,
        "memory_total": memory.total if has_memory and memory.total else None,
        "memory_free": memory.free if has_memory and memory.total else None,
        "unified_memory": not (has_memory and memory.total),
        "ecc": _switch(nvml.nvmlDeviceGetEccMode, handle),
        "mig": _switch(nvml.nvmlDeviceGetMigMode, handle),
        "power_limit_w": power / 1000.0 if power is not None else None,
        "pci_bus": bus or None,
        "pcie_generation": _number(nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle),
        "pcie_width": _number(nvml.nvmlDeviceGetMaxPcieLinkWidth, handle),
        "numa_node": _numa_node(bus),
        "nvlinks": nvlinks,
        "nvlink_generation": generation,
        "processes": _processes(nvml, handle),
    }


def _nvlinks(nvml: Any, handle: Any) -> tuple[int | None, int | None]:
    """(active NVLinks, version NVML gives for them); None when the GPU has no such thing."""
    active, generation, known = 0, None, False
    for link in range(NVLINKS):
        state = _number(nvml.nvmlDeviceGetNvLinkState, handle, ctypes.c_uint(link))
        known = known or state is not None
        if state == 1:
            active += 1
            generation = _number(nvml.nvmlDeviceGetNvLinkVersion, handle, ctypes.c_uint(link))
    return (active if known else None), generation


def _link(nvml: Any, a: int, b: int, first: Any, second: Any) -> dict[str, Any]:
    level = _number(nvml.nvmlDeviceGetTopologyCommonAncestor, first, second)
    path = PATHS.get(level) if level is not None else None
    over_nvlink = _number(nvml.nvmlDeviceGetP2PStatus, first, second, ctypes.c_int(P2P_NVLINK))
    reading = _number(nvml.nvmlDeviceGetP2PStatus, first, second, ctypes.c_int(P2P_READ))
    return {
        "a": a,
        "b": b,
        "kind": "nvlink" if over_nvlink == 0 else "pcie",
        "path": path,
        "p2p": reading == 0 if reading is not None else None,
    }


def _processes(nvml: Any, handle: Any) -> list[dict[str, Any]] | None:
    """Processes that hold memory; None when the driver does not tell."""
    function = getattr(nvml, "nvmlDeviceGetComputeRunningProcesses_v3", None)
    if function is None:
        return None
    count = ctypes.c_uint(256)
    holders = (_Process * count.value)()
    if function(handle, ctypes.byref(count), holders) != SUCCESS:
        return None
    unknown = 0xFFFFFFFFFFFFFFFF
    return [
        {
            "pid": holder.pid,
            "name": read(f"/proc/{holder.pid}/comm"),
            "memory": None if holder.usedGpuMemory == unknown else holder.usedGpuMemory,
        }
        for holder in holders[: count.value]
    ]


def _numa_node(bus: str) -> int | None:
    """sysfs writes a PCI domain with four digits where NVML writes eight."""
    node = read_int(f"/sys/bus/pci/devices/{bus[-12:]}/numa_node") if bus else None
    return node if node is not None and node >= 0 else None


def _must(nvml: Any, status: int) -> None:
    if status != SUCCESS:
        raise Unlearned(_complaint(nvml, status))


def _complaint(nvml: Any, status: int) -> str:
    return "NVML: " + str(nvml.nvmlErrorString(status).decode("utf-8", "replace"))


def _number(function: Any, *arguments: Any) -> int | None:
    value = ctypes.c_uint()
    return value.value if function(*arguments, ctypes.byref(value)) == SUCCESS else None


def _text(function: Any, *arguments: Any) -> str | None:
    buffer = ctypes.create_string_buffer(96)
    status = function(*arguments, buffer, ctypes.c_uint(len(buffer)))
    return buffer.value.decode("utf-8", "replace") if status == SUCCESS else None


def _switch(function: Any, handle: Any) -> bool | None:
    now, later = ctypes.c_uint(), ctypes.c_uint()
    return bool(now.value) if function(handle, ctypes.byref(now), ctypes.byref(later)) == SUCCESS else None


def driver_is_loaded() -> bool:
    """Whether the kernel has an NVIDIA driver, working or not."""
    return os.path.exists("/proc/driver/nvidia/version") or os.path.exists("/dev/nvidiactl")
