"""What a machine is, by asking it (here or over SSH), or from the catalog of known ones."""

from surefoot.machines.catalog import catalog_names, datasheet_bandwidth, known_machine
from surefoot.machines.machine import Machine, Origin, Unknown, machine_from_parts
from surefoot.machines.parts import Disk, Gpu, GpuLink

__all__ = [
    "COLLECTOR",
    "Disk",
    "Gpu",
    "GpuLink",
    "Machine",
    "Origin",
    "Unknown",
    "catalog_names",
    "datasheet_bandwidth",
    "known_machine",
    "machine_from_parts",
]

COLLECTOR = "surefoot.machines.probe.machine"
"""The module that collects a machine's parts on the host being asked."""
