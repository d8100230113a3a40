"""GPUs and their links through `nvidia-smi`, for hosts where NVML cannot be loaded."""

from __future__ import annotations

import contextlib
import re
from typing import Any
from xml.etree import ElementTree

from surefoot.asking.commands import Unlearned, output


def read_nvidia_smi() -> dict[str, Any]:
    """Driver, CUDA, GPUs and links. Raises `Unlearned` when nvidia-smi is missing or fails."""
    answer = parse_query(output(["nvidia-smi", "-q", "-x"]))
    try:
        capabilities = output(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]).split()
        for gpu, capability in zip(answer["gpus"], capabilities):  # noqa: B905
            gpu["sm"] = int(capability.replace(".", ""))
    except (Unlearned, ValueError):
        pass
    if len(answer["gpus"]) > 1:
        with contextlib.suppress(Unlearned):
            answer["links"] = parse_topology(output(["nvidia-smi", "topo", "-m"]))
    return answer


def parse_query(text: str) -> dict[str, Any]:
    """The log of `nvidia-smi -q -x`, schemas v10 to v13."""
    try:
        log = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise Unlearned(f"nvidia-smi printed no XML: {error}") from None
    return {
        "source": "nvidia-smi",
        "driver": _word(log.findtext("driver_version")),
        "cuda": _word(log.findtext("cuda_version")),
        "gpus": [_gpu(index, gpu) for index, gpu in enumerate(log.iter("gpu"))],
        "links": [],
    }


def _gpu(index: int, gpu: Any) -> dict[str, Any]:
    total = _mebibytes(gpu.findtext("fb_memory_usage/total"))
    power = gpu.findtext("gpu_power_readings/current_power_limit") or gpu.findtext("power_readings/power_limit")
    return {
        "index": index,
        "vendor": "nvidia",
        "name": _word(gpu.findtext("product_name")) or "unknown",
        "uuid": _word(gpu.findtext("uuid")),
        "sm": None,
        "memory_total": total,
        "memory_free": _mebibytes(gpu.findtext("fb_memory_usage/free")),
        "unified_memory": total is None,
        "ecc": _enabled(gpu.findtext("ecc_mode/current_ecc")),
        "mig": _enabled(gpu.findtext("mig_mode/current_mig")),
        "power_limit_w": _leading_number(power),
        "pci_bus": (gpu.get("id") or "").lower() or None,
        "pcie_generation": _whole(gpu.findtext("pci/pci_gpu_link_info/pcie_gen/max_link_gen")),
        "pcie_width": _whole(gpu.findtext("pci/pci_gpu_link_info/link_widths/max_link_width")),
        "numa_node": None,
        "nvlinks": None,
        "nvlink_generation": None,
        "processes": [
            {
                "pid": int(process.findtext("pid") or 0),
                "name": (process.findtext("process_name") or "").split(" ")[0] or None,
                "memory": _mebibytes(process.findtext("used_memory")),
            }
            for process in gpu.iter("process_info")
        ],
    }


def parse_topology(text: str) -> list[dict[str, Any]]:
    """The matrix of `nvidia-smi topo -m`: NV<n> are n bonded NVLinks, the rest are PCIe paths."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    rows = [line.split() for line in plain.splitlines() if re.match(r"\s*GPU\d+\s", line)]
    rows = [row for row in rows if row[1] not in ("GPU0", "GPU1")]  # the heading has no cells of its own
    links = []
    for a, row in enumerate(rows):
        for b in range(a + 1, len(rows)):
            word = row[1 + b]
            nvlink = re.fullmatch(r"NV(\d+)", word)
            links.append({"a": a, "b": b, "kind": "nvlink" if nvlink else "pcie", "path": word, "p2p": None})
    return links


def _word(text: str | None) -> str | None:
    return text.strip() if text and text.strip() not in ("N/A", "[N/A]", "Not Found", "") else None


def _leading_number(text: str | None) -> float | None:
    match = re.match(r"\s*(\d+(?:\.\d+)?)", text or "")
    return float(match.group(1)) if match else None


def _whole(text: str | None) -> int | None:
    number = _leading_number(text)
    return int(number) if number is not None else None


def _mebibytes(text: str | None) -> int | None:
    number = _leading_number(text)
    return int(number) * 2**20 if number is not None else None


def _enabled(text: str | None) -> bool | None:
    return {"Enabled": True, "Disabled": False}.get((text or "").strip())
