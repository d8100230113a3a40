"""A whole probe of this host, and machine.json in and out."""

import json
import os
import time
from pathlib import Path

import pytest

from surefoot.asking import Asked, HostError
from surefoot.errors import InputError
from surefoot.hosts import Host, probe, read_host, write_host
from surefoot.machines import machine_from_parts


def test_this_host_agrees_with_the_operating_system(tmp_path: Path) -> None:
    start = time.monotonic()
    machine = probe(Asked(), model_folder=str(tmp_path / "not there yet")).machine
    assert time.monotonic() - start < 10
    assert machine.system is not None
    assert machine.system.hostname == os.uname().nodename
    assert machine.memory is not None
    assert machine.memory.total == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert machine.processor is not None
    assert machine.processor.usable_threads == len(os.sched_getaffinity(0))
    disk = machine.disk("model folder")
    assert disk is not None
    assert not disk.exists
    room = os.statvfs(tmp_path)
    assert disk.total == room.f_blocks * room.f_frsize
    assert disk.mount_point is not None
    assert os.path.ismount(disk.mount_point)


def test_secrets_in_the_environment_never_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sesame-1")
    monkeypatch.setenv("HF_TOKEN", "sesame-2")
    monkeypatch.setenv("https_proxy", "http://user:sesame-3@proxy.example:3128/?token=sesame-4")
    monkeypatch.setenv("NCCL_P2P_DISABLE", "1")
    machine = probe(Asked()).machine
    assert "sesame" not in repr(machine)
    assert machine.environment is not None
    assert machine.environment["NCCL_P2P_DISABLE"] == "1"
    assert machine.network is not None
    assert machine.network.proxies == {"https_proxy": "http://proxy.example:3128/"}
    assert machine.hub is not None
    assert machine.hub.token_source == "HF_TOKEN"


def test_machine_json_round_trip(tmp_path: Path) -> None:
    found = probe(Asked())
    write_host(tmp_path / "machine.json", found)
    assert read_host(tmp_path / "machine.json") == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema": 99, "machine": {"anything": true}}', "newer Surefoot"),
        ('{"schema": 1, "machine": {"name": "x", "origin": "dreamt"}}', r"origin"),
        ('{"schema": 1}', "machine"),
        ('{"schema": 1, "machine": {"na', "not a machine.json"),
        ("[]", "not a machine.json"),
    ],
)
def test_a_wrong_machine_json_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "machine.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_host(path)


def test_a_part_that_makes_no_sense_is_unknown_and_the_rest_is_kept() -> None:
    parts = {
        "memory": {"value": {"total": "a lot"}},
        "limits": {"value": {"nofile_soft": 1024}},
        "disks": {"unknown": "took longer than 10 s"},
        "hub": "nonsense",
    }
    machine = machine_from_parts("h", parts)
    assert machine.memory is None
    assert "total" in machine.why_unknown("memory")
    assert machine.limits is not None
    assert machine.limits.nofile_soft == 1024
    assert machine.why_unknown("disks") == "took longer than 10 s"
    assert machine.why_unknown("hub") == "the probe said nothing about it"
    assert json.loads(json.dumps(machine.why_unknown("gone"))) == "it was not asked for"


def test_no_such_python() -> None:
    with pytest.raises(HostError, match="cannot run"):
        probe(Asked(python="/no/such/python"))


def test_host_record_is_stable() -> None:
    assert Host(machine_from_parts("h", {})).schema == 1
