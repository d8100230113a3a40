"""What the host must bring, on probed machines with facts missing or wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surefoot.evidence import Verdict
from surefoot.hosts import Host
from surefoot.machines import Machine, Origin
from surefoot.machines.parts import Accelerators, Limits, Memory
from surefoot.preflight.case import Case

from .conftest import codes, entry, judged, kimi

GIB = 2**30


def probed(**changes: object) -> Case:
    """The founding case on a probed machine."""
    case = kimi()
    known = case.host.machine.accelerators
    assert known is not None
    accelerators = replace(known, driver=changes.pop("driver", "580.95.05"))  # type: ignore[arg-type]
    fields = {"accelerators": accelerators, "memory": Memory(total=2**40, shm_total=64 * GIB), **changes}
    return replace(case, host=Host(Machine(name="box", origin=Origin.PROBED, **fields)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("driver", "level"), [("580.95.05", "ok"), ("570.124", "blocker"), (None, "unknown")])
def test_driver(driver: str | None, level: str) -> None:
    found = codes(judged(probed(driver=driver), "plain"))
    assert found.get("driver", found.get("driver-too-old", found.get("driver-unknown"))) == level


def test_shared_memory_of_a_container() -> None:
    small = probed(memory=Memory(total=2**40, shm_total=64 * 2**20))
    assert codes(judged(small, "plain"))["shared-memory-small"] == "blocker"
    assert "shared-memory-small" not in codes(judged(probed(), "plain"))


def test_memlock() -> None:
    assert codes(judged(probed(limits=Limits(memlock_soft=65536)), "plain"))["memlock-small"] == "warning"


def test_a_gpu_in_use_shrinks_the_budget_and_is_named() -> None:
    case = probed()
    known = case.host.machine.accelerators
    assert known is not None
    used = replace(known.gpus[3], memory_free=60 * GIB)
    gpus = (*known.gpus[:3], used, *known.gpus[4:])
    busy = replace(case, host=Host(replace(case.host.machine, accelerators=replace(known, gpus=gpus))))
    answer = judged(busy, "plain")
    found = codes(answer)
    assert found["gpu-in-use"] == "warning"
    assert found["memory-window-empty"] == "blocker"
    assert entry(answer, "plain").budget.free_bytes == 60 * GIB  # type: ignore[union-attr]


def test_unknown_gpus_are_unknown_and_no_gpus_are_a_no() -> None:
    unknown = replace(kimi(draft=False), host=Host(Machine(name="box", origin=Origin.PROBED)))
    assert judged(unknown, "plain").verdict is Verdict.UNKNOWN
    none = replace(unknown, host=Host(Machine("box", Origin.PROBED, accelerators=Accelerators(source="none"))))
    answer = judged(none, "plain")
    assert answer.verdict is Verdict.NO_GO
    assert codes(answer)["no-gpu"] == "blocker"


def test_links_without_p2p() -> None:
    case = probed()
    known = case.host.machine.accelerators
    assert known is not None
    links = tuple(replace(link, p2p=False) for link in known.links)
    cut = replace(case, host=Host(replace(case.host.machine, accelerators=replace(known, links=links))))
    assert codes(judged(cut, "plain"))["p2p-off"] == "warning"
