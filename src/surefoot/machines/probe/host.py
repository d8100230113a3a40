"""The host itself: kernel, distribution, processor, memory, limits, IOMMU, some environment variables."""

from __future__ import annotations

import os
import platform
import resource
import socket
import sys
import time
from glob import glob
from typing import Any

from surefoot.asking.commands import read, read_int

ENVIRONMENT = (
    "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
    "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_HUB_DISABLE_XET", "TRANSFORMERS_OFFLINE",
    "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_IB_DISABLE", "NCCL_SOCKET_IFNAME", "NCCL_DEBUG",
    "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "SGLANG_SIMULATE_ACC_LEN", "SGLANG_PLUGINS",
    "SGLANG_EXTERNAL_MODEL_PACKAGE", "SGLANG_DISABLED_MODEL_ARCHS", "VLLM_ATTENTION_BACKEND", "VLLM_PLUGINS",
)  # fmt: skip
"""The only environment variables that leave a host: switches and places, nothing that can hold a secret."""


def system(options: dict[str, Any]) -> dict[str, Any]:
    """Kernel, distribution, C library, container, user, clock."""
    release = _key_values(read("/etc/os-release") or "", "=")
    uptime = (read("/proc/uptime") or "").split()
    return {
        "hostname": socket.gethostname(),
        "kernel": platform.release(),
        "distribution": release.get("PRETTY_NAME", "").strip('"') or None,
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()).strip() or None,
        "python": sys.version.split()[0],
        "container": _container(),
        "root": os.geteuid() == 0,
        "clock": time.time(),
        "clock_synchronized": _clock_synchronized(),
        "uptime_s": float(uptime[0]) if uptime else None,
    }


def processor(options: dict[str, Any]) -> dict[str, Any]:
    """Model, sockets, cores, threads, the threads we may use, NUMA nodes, vector instruction sets."""
    text = read("/proc/cpuinfo", 1 << 24) or ""
    blocks = [_key_values(block, ":") for block in text.split("\n\n") if block.strip()]
    first = blocks[0] if blocks else {}
    pairs = {(block.get("physical id", "0"), block.get("core id", str(i))) for i, block in enumerate(blocks)}
    flags = set((first.get("flags") or first.get("Features") or "").split())
    wanted = ("avx2", "avx512f", "avx512_bf16", "amx_tile", "asimd", "sve")
    return {
        "model": first.get("model name") or first.get("Hardware") or platform.processor() or None,
        "sockets": len({socket_id for socket_id, _ in pairs}) or None,
        "cores": len(pairs) or None,
        "threads": os.cpu_count(),
        "usable_threads": len(os.sched_getaffinity(0)),
        "numa_nodes": len(glob("/sys/devices/system/node/node[0-9]*")) or None,
        "instructions": [flag for flag in wanted if flag in flags],
    }


def memory(options: dict[str, Any]) -> dict[str, Any]:
    """RAM, swap, /dev/shm, the cgroup's limit and huge pages, all in bytes."""
    info = {key: value.split() for key, value in _key_values(read("/proc/meminfo") or "", ":").items()}
    size = {key: int(value[0]) * (1024 if value[1:] == ["kB"] else 1) for key, value in info.items() if value}
    shm = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
    return {
        "total": size["MemTotal"],
        "available": size["MemAvailable"],
        "swap_total": size.get("SwapTotal", 0),
        "swap_free": size.get("SwapFree", 0),
        "shm_total": shm.f_blocks * shm.f_frsize if shm else None,
        "shm_free": shm.f_bavail * shm.f_frsize if shm else None,
        "limit": _memory_limit(),
        "hugepages_total": size.get("HugePages_Total", 0),
        "hugepages_free": size.get("HugePages_Free", 0),
        "hugepage_size": size.get("Hugepagesize"),
        "transparent_hugepages": _chosen(read("/sys/kernel/mm/transparent_hugepage/enabled")),
    }


def limits(options: dict[str, Any]) -> dict[str, Any]:
    """What one process may lock in memory (bytes) and open (files); None stands for unlimited."""
    answer = {}
    for name, which in (("memlock", resource.RLIMIT_MEMLOCK), ("nofile", resource.RLIMIT_NOFILE)):
        soft, hard = (None if v == resource.RLIM_INFINITY else v for v in resource.getrlimit(which))
        answer[f"{name}_soft"], answer[f"{name}_hard"] = soft, hard
    return answer


def isolation(options: dict[str, Any]) -> dict[str, Any]:
    """Whether an IOMMU is on and which boot switches touch it: both can slow or break GPU peer access."""
    words = (read("/proc/cmdline") or "").split()
    groups = glob("/sys/kernel/iommu_groups/[0-9]*")
    kinds = sorted({kind for kind in (read(f"{group}/type") for group in groups) if kind})
    prefixes = ("iommu", "intel_iommu", "amd_iommu", "pci=", "pcie_acs_override", "pcie_aspm")
    return {
        "iommu": bool(groups),
        "iommu_types": kinds,
        "boot_switches": [word for word in words if word.startswith(prefixes)],
    }


def environment(options: dict[str, Any]) -> dict[str, str]:
    """The allow-listed environment variables that are set."""
    return {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}


def _container() -> str | None:
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if os.path.exists("/run/.containerenv"):
        return "podman"
    if os.path.exists("/.dockerenv"):
        return "docker"
    groups = read("/proc/1/cgroup") or ""
    for name in ("kubepods", "docker", "containerd", "lxc"):
        if name in groups:
            return name
    return None


def _clock_synchronized() -> bool | None:
    return True if os.path.exists("/run/systemd/timesync/synchronized") else None


def _memory_limit() -> int | None:
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        limit = read_int(path)
        if limit is not None and limit < 1 << 60:
            return limit
    return None


def _chosen(text: str | None) -> str | None:
    return text[text.index("[") + 1 : text.index("]")] if text and "[" in text else text


def _key_values(text: str, separator: str) -> dict[str, str]:
    pairs = (line.partition(separator) for line in text.splitlines() if separator in line)
    return {key.strip(): value.strip() for key, _, value in pairs}
