"""Network interfaces, RDMA devices (InfiniBand, RoCE) and proxy settings."""

from __future__ import annotations

import os
from glob import glob
from typing import Any

from surefoot.asking.commands import read, read_int

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def network(options: dict[str, Any]) -> dict[str, Any]:
    """Interfaces with their state and speed (Mbit/s), RDMA ports, and proxies without their passwords."""
    return {
        "interfaces": [_interface(path) for path in sorted(glob("/sys/class/net/*")) if os.path.isdir(path)],
        "rdma": [_port(path) for path in sorted(glob("/sys/class/infiniband/*/ports/*"))],
        "proxies": _proxies(),
    }


def _interface(path: str) -> dict[str, Any]:
    speed = read_int(path + "/speed")
    return {
        "name": os.path.basename(path),
        "state": read(path + "/operstate"),
        "speed_mbit": speed if speed and speed > 0 else None,
        "mtu": read_int(path + "/mtu"),
        "virtual": "/virtual/" in os.path.realpath(path),
    }


def _port(path: str) -> dict[str, Any]:
    device = path.split("/")[-3]
    return {
        "device": device,
        "port": int(os.path.basename(path)),
        "link_layer": read(path + "/link_layer"),
        "state": (read(path + "/state") or "").rpartition(": ")[2] or None,
        "rate": read(path + "/rate"),
        "numa_node": read_int(f"/sys/class/infiniband/{device}/device/numa_node"),
    }


def _proxies() -> dict[str, str]:
    found = {}
    for name in PROXIES:
        value = os.environ.get(name) or os.environ.get(name.upper())
        if value:
            found[name] = without_credentials(value)
    return found


def without_credentials(address: str) -> str:
    """`http://user:secret@proxy:80/x?key=y` as `http://proxy:80/x`."""
    scheme, mark, rest = address.partition("://")
    if not mark:
        scheme, rest = "", address
    host, slash, path = rest.split("?")[0].partition("/")
    return scheme + mark + host.rpartition("@")[2] + slash + path
