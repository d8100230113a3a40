"""Container runtimes on this host, and whether they hand GPUs to containers."""

from __future__ import annotations

import os
from typing import Any

from surefoot.asking.commands import Unlearned, find, output, read

RUNTIMES = (
    ("docker", ["docker", "--version"]),
    ("podman", ["podman", "--version"]),
    ("containerd", ["containerd", "--version"]),
    ("apptainer", ["apptainer", "--version"]),
    ("singularity", ["singularity", "--version"]),
    ("enroot", ["enroot", "version"]),
    ("nvidia-container-toolkit", ["nvidia-ctk", "--version"]),
    ("kubelet", ["kubelet", "--version"]),
)


def runtimes(options: dict[str, Any]) -> list[dict[str, Any]]:
    """Name, version and, for Docker, whether its socket may be used and NVIDIA's runtime is configured."""
    found = []
    for name, argv in RUNTIMES:
        if find(argv[0]) is None:
            continue
        try:
            lines = output(argv, 3.0).splitlines()
            version = lines[0].strip() if lines else None
        except Unlearned as error:
            version = str(error)
        usable = os.access("/var/run/docker.sock", os.W_OK) if name == "docker" else None
        nvidia = "nvidia" in (read("/etc/docker/daemon.json") or "") if name == "docker" else None
        found.append({"name": name, "version": version, "usable": usable, "nvidia": nvidia})
    return found
