"""How long a probe takes: of this host, over SSH, and the reading of an SGLang. Medians of several runs.

    python bench/probe_speed.py [--host HOST] [--ssh-config FILE] [--sglang PACKAGE]... [--repeat 10]

PACKAGE is the folder `sglang` of an installation. The engine part of the probe finds whatever is installed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from surefoot.asking import Asked
from surefoot.engines.probe.sglang import read_sglang
from surefoot.hosts import probe


def seconds(action: Callable[[], object], repeat: int) -> tuple[float, float, float]:
    """(median, slowest, median of CPU time) of `repeat` runs after one that warms the disk cache.

    CPU time is that of this process and its children on this host: what an idle core would take.
    """
    action()
    taken, used = [], []
    for _ in range(repeat):
        start, cpu = time.perf_counter(), sum(os.times()[:4])
        action()
        taken.append(time.perf_counter() - start)
        used.append(sum(os.times()[:4]) - cpu)
    return statistics.median(taken), max(taken), statistics.median(used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host")
    parser.add_argument("--ssh-config", type=Path)
    parser.add_argument("--sglang", action="append", default=[])
    parser.add_argument("--repeat", type=int, default=10)
    arguments = parser.parse_args()
    rows: list[tuple[str, Callable[[], object]]] = [("probe of this host", lambda: probe(Asked()))]
    if arguments.host:
        asked = Asked(arguments.host, ssh_config=arguments.ssh_config)
        rows.append((f"probe of {arguments.host} over SSH", lambda: probe(asked)))
    for package in arguments.sglang:
        rows.append((f"reading {package}", lambda package=package: read_sglang(package)))
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} threads, load {load:.1f}; median, slowest, CPU of {arguments.repeat} runs")
    for name, action in rows:
        median, slowest, cpu = seconds(action, arguments.repeat)
        print(f"{median:7.3f} s {slowest:7.3f} s {cpu:7.3f} s  {name}")


if __name__ == "__main__":
    main()
