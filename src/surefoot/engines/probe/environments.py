"""Find the Python environments of this host that hold an engine: system, venv, conda, uv, editable, running.

Nothing is started and nothing is imported: folders are listed and the metadata of packages is read.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from glob import glob
from typing import Any
from urllib.parse import unquote, urlparse

from surefoot.asking.commands import read

ENGINES = ("sglang", "vllm")
PACKAGES = (
    "torch", "torchvision", "triton", "transformers", "huggingface-hub", "safetensors", "compressed-tensors",
    "flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache", "sgl-kernel", "sglang-kernel",
    "flash-attn", "flash-attn-4", "deep-gemm", "sgl-deep-gemm", "nvidia-cutlass-dsl", "apache-tvm-ffi",
    "nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "xgrammar",
)  # fmt: skip
"""The packages whose versions decide what an engine can do."""

PLUGIN_GROUPS = (
    "sglang.srt.plugins", "sglang.srt.platforms", "vllm.general_plugins", "vllm.platform_plugins"
)  # fmt: skip
SITES = (
    "/usr/lib/python3*/*-packages",
    "/usr/local/lib/python3*/*-packages",
    "~/.local/lib/python3*/site-packages",
)
PREFIXES = (
    "/opt/*", "/opt/*/envs/*", "~/*conda*", "~/*conda*/envs/*", "~/miniforge3", "~/miniforge3/envs/*",
    "~/.conda/envs/*", "~/.pyenv/versions/*", "~/.local/share/uv/tools/*", "~/.local/share/uv/python/*",
    "~/.local/pipx/venvs/*", "~/.local/share/pipx/venvs/*", "~/.virtualenvs/*", "~/.venvs/*",
)  # fmt: skip
WALKED = ("~", "/home/*", "/opt", "/srv", "/data", "/workspace", "/app")
DEPTH, FOLDERS, SECONDS = 3, 20000, 4.0


def environments(options: dict[str, Any], running: list[str]) -> Iterator[dict[str, Any]]:
    """One entry for each engine in each environment; `running`: site folders that processes have mapped."""
    seen = set()
    for site in _sites([os.path.expanduser(path) for path in options.get("search") or []], running):
        try:
            names = os.listdir(site)
        except OSError:
            continue
        for kind in ENGINES:
            package = _package(site, names, kind)
            if package and os.path.realpath(package) not in seen:
                seen.add(os.path.realpath(package))
                versions = _versions(names)
                yield {
                    "kind": kind,
                    "version": _version(kind, names, package),
                    "package": package,
                    "site": site,
                    "python": _interpreter(site),
                    "packages": {name: versions[name] for name in PACKAGES if name in versions},
                    "cuda": _cuda(site),
                    "plugins": _plugins(site, names),
                }


def _sites(search: list[str], running: list[str]) -> Iterator[str]:
    yield from running
    for path in search:
        yield path
        yield from sorted(glob(os.path.join(_literal(path), "*", "")))
        yield from _sites_of(path)
        yield from _walk(path)
    yield from (path for path in sys.path if path.endswith("-packages"))
    for pattern in SITES:
        yield from sorted(glob(os.path.expanduser(pattern)))
    listed = (read(os.path.expanduser("~/.conda/environments.txt")) or "").splitlines()
    for prefix in [*listed, *(p for pattern in PREFIXES for p in sorted(glob(os.path.expanduser(pattern))))]:
        yield from _sites_of(prefix)
    for pattern in WALKED:
        for root in sorted(glob(os.path.expanduser(pattern))):
            yield from _walk(root)


def _sites_of(prefix: str) -> list[str]:
    return sorted(glob(os.path.join(_literal(prefix), "lib", "python3*", "site-packages")))


def _literal(path: str) -> str:
    """`path` with the characters that mean something to glob made harmless."""
    return re.sub(r"([*?[])", r"[\1]", path)


def _walk(root: str) -> Iterator[str]:
    """Virtual environments (they have a pyvenv.cfg) a few folders below `root`."""
    end = time.monotonic() + SECONDS
    level = [root]
    visited = 0
    for _ in range(DEPTH + 1):
        below = []
        for folder in level:
            visited += 1
            if visited > FOLDERS or time.monotonic() > end:
                return
            if os.path.exists(os.path.join(folder, "pyvenv.cfg")):
                yield from _sites_of(folder)
                continue
            try:
                with os.scandir(folder) as entries:
                    below += [e.path for e in entries if _worth_a_look(e)]
            except OSError:
                continue
        level = sorted(below)


def _worth_a_look(entry: os.DirEntry[str]) -> bool:
    try:
        return (not entry.name.startswith(".") or "venv" in entry.name) and entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _package(site: str, names: list[str], kind: str) -> str | None:
    """The package's folder: in the site folder, or where an editable install points."""
    inner = {"sglang": "srt", "vllm": "platforms"}[kind]
    if kind in names and os.path.isdir(os.path.join(site, kind, inner)):
        return os.path.join(site, kind)
    for name in names:
        if name.startswith(kind + "-") and name.endswith(".dist-info"):
            try:
                url = json.loads(read(os.path.join(site, name, "direct_url.json")) or "{}").get("url", "")
            except ValueError:
                continue
            root = unquote(urlparse(url).path) if url.startswith("file://") else ""
            for candidate in (os.path.join(root, kind), os.path.join(root, "python", kind)):
                if root and os.path.isdir(os.path.join(candidate, inner)):
                    return candidate
    return None


def _versions(names: list[str]) -> dict[str, str]:
    found = {}
    for name in names:
        if name.endswith(".dist-info"):
            package, _, version = name[: -len(".dist-info")].rpartition("-")
            found[package.lower().replace("_", "-")] = version
    return found


def _version(kind: str, names: list[str], package: str) -> str | None:
    versions = _versions(names)
    for name in (kind, kind + "-cpu"):
        if name in versions:
            return versions[name]
    for file in ("version.py", "_version.py"):
        match = re.search(
            r"""^(?:__version__|version)\b[^'"\n]*['"]([^'"]+)""",
            read(os.path.join(package, file)) or "",
            re.M,
        )
        if match:
            return match.group(1)
    return None


def _interpreter(site: str) -> str | None:
    match = re.fullmatch(r"(.*)/lib/(python3[^/]*)/(?:site|dist)-packages", site)
    if match is None:
        return None
    prefix, name = match.groups()
    for candidate in (name, "python3", "python"):
        path = os.path.join(prefix or "/usr", "bin", candidate)
        if os.access(path, os.X_OK):
            return path
    return None


def _cuda(site: str) -> str | None:
    match = re.search(r"^cuda[^=\n]*=\s*'([^']+)'", read(os.path.join(site, "torch", "version.py")) or "", re.M)
    return match.group(1) if match else None


def _plugins(site: str, names: list[str]) -> list[dict[str, str]]:
    found = []
    for name in sorted(names):
        text = read(os.path.join(site, name, "entry_points.txt")) if name.endswith(".dist-info") else None
        group = None
        for line in (text or "").splitlines():
            line = line.strip()
            if line.startswith("["):
                group = line.strip("[]")
            elif "=" in line and group in PLUGIN_GROUPS:
                key, _, value = line.partition("=")
                found.append({"group": str(group), "name": key.strip(), "value": value.strip()})
    return found
