"""Bytes against bytes: readings of a size, what is cached, file systems shared by two roles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from surefoot.errors import UsageError
from surefoot.hosts import Host
from surefoot.machines import Disk, Machine, Origin
from surefoot.machines.parts import CachedModel, CachedRevision, HubCache
from surefoot.preflight.case import Case
from surefoot.preflight.disk import DiskPlan, disk_needs, judge_disk, read_free

from .conftest import kimi

GB = 10**9


def on(machine: Machine, **changes: object) -> Case:
    case = kimi()
    return replace(case, host=Host(replace(machine, **changes)))  # type: ignore[arg-type]


def probed(*disks: Disk, hub: HubCache | None = None) -> Machine:
    return Machine(name="box", origin=Origin.PROBED, disks=disks, hub=hub)


def disk(role: str, free: int, mount: str = "/") -> Disk:
    return Disk(role=role, path=f"{mount}{role}", total=2 * free, free=free, mount_point=mount)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("593 GB", (593 * GB,)),
        ("593GiB", (593 * 2**30,)),
        ("593", (593 * GB, 593 * 2**30)),
        ("1.5T", (1500 * GB, 1_649_267_441_664)),
    ],
)
def test_readings(text: str, sizes: tuple[int, ...]) -> None:
    assert read_free(text) == sizes


def test_no_space_and_no_size_are_wrong_use() -> None:
    with pytest.raises(UsageError):
        read_free("0")
    with pytest.raises(UsageError):
        read_free("a lot")


def test_what_is_cached_need_not_be_fetched() -> None:
    case = on(probed(disk("hub cache", 50 * GB)))
    (need,) = disk_needs(case, DiskPlan())
    assert need.rest == case.target.download_bytes + case.drafter.download_bytes  # type: ignore[union-attr]
    cached = CachedModel("moonshotai/Kimi-K2.6", (CachedRevision("c", case.target.download_bytes, "complete"),))
    partly = replace(cached, revisions=(), partial_files=1, partial_bytes=100 * GB)
    for model, rest in ((cached, 0), (partly, case.target.download_bytes - 100 * GB)):
        held = on(probed(disk("hub cache", 50 * GB), hub=HubCache("/cache", (model,))))
        assert disk_needs(held, DiskPlan())[0].rest == rest + case.drafter.download_bytes  # type: ignore[union-attr]


def test_two_roles_on_one_file_system_are_added_up() -> None:
    both = on(probed(disk("hub cache", 650 * GB), disk("docker root", 650 * GB)))
    apart = on(probed(disk("hub cache", 650 * GB), disk("docker root", 650 * GB, "/var")))
    plan = DiskPlan(image=60 * GB)
    assert [finding.code for finding in judge_disk(both, plan)] == ["disk-too-small"]
    assert [finding.code for finding in judge_disk(apart, plan)] == ["disk-fits", "disk-fits"]


def test_tight_and_unknown() -> None:
    need = disk_needs(on(probed(disk("hub cache", GB))), DiskPlan())[0].peak
    assert [f.code for f in judge_disk(on(probed(disk("hub cache", need + GB))), DiskPlan())] == ["disk-tight"]
    assert [f.code for f in judge_disk(on(probed(disk("hub cache", need))), DiskPlan(margin=0))] == ["disk-fits"]
    (finding,) = judge_disk(on(probed()), DiskPlan())
    assert (finding.code, str(finding.level)) == ("disk-unknown", "unknown")
