"""The parts a machine is described by: GPUs and links, memory, disks, hub cache, network and the rest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GpuProcess:
    """A process that holds GPU memory (`memory` in bytes; None when the driver does not tell)."""

    pid: int
    name: str | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Gpu:
    """One GPU. `sm` is its compute capability as one number: 120 for 12.0. Sizes are bytes.

    `memory_total` is None for a GPU that shares the host's RAM (`unified_memory`, as on a DGX Spark).
    `memory_bandwidth` is the datasheet's, in bytes a second.
    """

    index: int
    name: str
    vendor: str = "nvidia"
    uuid: str | None = None
    sm: int | None = None
    memory_total: int | None = None
    memory_free: int | None = None
    memory_bandwidth: int | None = None
    unified_memory: bool = False
    ecc: bool | None = None
    mig: bool | None = None
    power_limit_w: float | None = None
    pci_bus: str | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    numa_node: int | None = None
    nvlinks: int | None = None
    nvlink_generation: int | None = None
    processes: tuple[GpuProcess, ...] | None = None


@dataclass(frozen=True)
class GpuLink:
    """How GPUs `a` and `b` reach each other: `nvlink` or `pcie`, by which path, whether P2P is allowed."""

    a: int
    b: int
    kind: str
    path: str | None = None
    p2p: bool | None = None


@dataclass(frozen=True)
class Accelerators:
    """GPUs, their links, the driver and its CUDA version, and who told (`nvml`, `nvidia-smi`, ...)."""

    source: str
    gpus: tuple[Gpu, ...] = ()
    links: tuple[GpuLink, ...] = ()
    driver: str | None = None
    cuda: str | None = None


@dataclass(frozen=True)
class System:
    """Operating system, container, user and clock (`clock` in seconds since 1970, UTC)."""

    hostname: str
    kernel: str
    architecture: str
    distribution: str | None = None
    libc: str | None = None
    python: str | None = None
    container: str | None = None
    root: bool | None = None
    clock: float | None = None
    clock_synchronized: bool | None = None
    uptime_s: float | None = None


@dataclass(frozen=True)
class Processor:
    """The CPU; `usable_threads` is what this user's processes may run on."""

    model: str | None = None
    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    usable_threads: int | None = None
    numa_nodes: int | None = None
    instructions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Memory:
    """RAM, swap, shared memory and huge pages in bytes; `limit` is the container's, None without one."""

    total: int
    available: int | None = None
    swap_total: int = 0
    swap_free: int = 0
    shm_total: int | None = None
    shm_free: int | None = None
    limit: int | None = None
    hugepages_total: int = 0
    hugepages_free: int = 0
    hugepage_size: int | None = None
    transparent_hugepages: str | None = None


@dataclass(frozen=True)
class Limits:
    """What a process may lock (bytes) and open (files); None is unlimited."""

    memlock_soft: int | None = None
    memlock_hard: int | None = None
    nofile_soft: int | None = None
    nofile_hard: int | None = None


@dataclass(frozen=True)
class Isolation:
    """IOMMU state and the boot switches that touch it."""

    iommu: bool
    iommu_types: tuple[str, ...] = ()
    boot_switches: tuple[str, ...] = ()


@dataclass(frozen=True)
class Disk:
    """The file system behind one place that matters. `exists` is false when the folder is not there yet."""

    role: str
    path: str
    total: int
    free: int
    exists: bool = True
    writable: bool | None = None
    inodes_free: int | None = None
    filesystem: str | None = None
    device: str | None = None
    mount_point: str | None = None


@dataclass(frozen=True)
class CachedRevision:
    """A revision in the hub cache: `complete`, `partial`, `no weights` or `unknown`; what is missing."""

    commit: str
    bytes: int
    state: str
    refs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class CachedModel:
    """One model in the hub cache; partial files are downloads that were cut off."""

    repo: str
    revisions: tuple[CachedRevision, ...] = ()
    partial_files: int = 0
    partial_bytes: int = 0


@dataclass(frozen=True)
class HubCache:
    """The Hugging Face cache; `token_source` names where a token is, never the token."""

    path: str
    models: tuple[CachedModel, ...] = ()
    token_source: str | None = None


@dataclass(frozen=True)
class Runtime:
    """A container runtime; for Docker, whether this user may use it and NVIDIA's runtime is configured."""

    name: str
    version: str | None = None
    usable: bool | None = None
    nvidia: bool | None = None


@dataclass(frozen=True)
class Interface:
    """A network interface; speed in Mbit/s."""

    name: str
    state: str | None = None
    speed_mbit: int | None = None
    mtu: int | None = None
    virtual: bool = False


@dataclass(frozen=True)
class RdmaPort:
    """A port of an InfiniBand or RoCE device."""

    device: str
    port: int
    link_layer: str | None = None
    state: str | None = None
    rate: str | None = None
    numa_node: int | None = None


@dataclass(frozen=True)
class Network:
    """Interfaces, RDMA ports, proxies (passwords removed on the host)."""

    interfaces: tuple[Interface, ...] = ()
    rdma: tuple[RdmaPort, ...] = ()
    proxies: dict[str, str] | None = None
