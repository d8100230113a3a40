"""Where models, images and scratch files would go, and exactly how many bytes are free there."""

from __future__ import annotations

import json
import os
from typing import Any

from surefoot.asking.commands import read


def disks(options: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each place that matters; `options["model_folder"]` adds one."""
    home = os.path.expanduser("~")
    places = [
        ("hub cache", hub_folder()),
        ("model folder", options.get("model_folder")),
        ("docker root", _docker_root()),
        ("temporary files", os.environ.get("TMPDIR") or "/tmp"),
        ("home", home),
    ]
    mounts = _mounts()
    return [_disk(role, os.path.expanduser(path), mounts) for role, path in places if path]


def hub_folder() -> str:
    """The Hugging Face hub cache, by the rules of huggingface_hub."""
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    return os.path.expanduser(named or os.path.join(hub_home(), "hub"))


def hub_home() -> str:
    """HF_HOME, by the rules of huggingface_hub."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.expanduser(os.environ.get("HF_HOME") or os.path.join(cache, "huggingface"))


def _disk(role: str, path: str, mounts: list[tuple[str, str, str]]) -> dict[str, Any]:
    existing = path = os.path.abspath(path)
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    real = os.path.realpath(existing)
    room = os.statvfs(real)
    device, point, kind = max(
        (mount for mount in mounts if _inside(real, mount[1])),
        key=lambda mount: len(mount[1]),
        default=(None, None, None),
    )
    return {
        "role": role,
        "path": path,
        "exists": existing == path,
        "writable": os.access(real, os.W_OK),
        "total": room.f_blocks * room.f_frsize,
        "free": room.f_bavail * room.f_frsize,
        "inodes_free": room.f_favail or None,
        "filesystem": kind,
        "device": device,
        "mount_point": point,
    }


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _mounts() -> list[tuple[str, str, str]]:
    """(device, mount point, filesystem); the octal escapes of spaces in /proc/mounts are undone."""
    lines = (line.split(" ") for line in (read("/proc/self/mounts") or "").splitlines())
    return [(_unescape(f[0]), _unescape(f[1]), f[2]) for f in lines if len(f) >= 3]


def _unescape(text: str) -> str:
    for code, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        text = text.replace(code, character)
    return text


def _docker_root() -> str | None:
    try:
        settings = json.loads(read("/etc/docker/daemon.json") or "{}")
    except ValueError:
        settings = {}
    root = settings.get("data-root", "/var/lib/docker") if isinstance(settings, dict) else "/var/lib/docker"
    return root if os.path.isdir(root) else None
