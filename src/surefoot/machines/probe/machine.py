"""Every part of the description of a machine: its name, who collects it, and how long it may take (s)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surefoot.machines.probe.accelerators import accelerators
from surefoot.machines.probe.host import environment, isolation, limits, memory, processor, system
from surefoot.machines.probe.hub_cache import hub
from surefoot.machines.probe.network import network
from surefoot.machines.probe.runtimes import runtimes
from surefoot.machines.probe.storage import disks


def parts() -> list[tuple[str, Callable[[dict[str, Any]], Any], float]]:
    """The parts, named like the fields of `surefoot.machines.Machine` that they fill."""
    return [
        ("system", system, 5.0),
        ("processor", processor, 5.0),
        ("memory", memory, 5.0),
        ("limits", limits, 5.0),
        ("isolation", isolation, 5.0),
        ("accelerators", accelerators, 20.0),
        ("disks", disks, 10.0),
        ("hub", hub, 15.0),
        ("runtimes", runtimes, 15.0),
        ("network", network, 5.0),
        ("environment", environment, 5.0),
    ]
