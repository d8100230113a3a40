"""surefoot.toml and its lock: there and back, and one clear error for each thing that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefoot.errors import InputError, UsageError
from surefoot.preflight.deployment import (
    Deployment,
    EngineEntry,
    Lock,
    MachineEntry,
    ModelEntry,
    StrategiesEntry,
    make_lock,
    read_deployment,
    write_deployment,
    write_lock,
)
from surefoot.preflight.options import Options, Workload
from surefoot.records import read_record

from .conftest import judged, kimi

FULL = Deployment(
    target=ModelEntry("org/model", "abc"),
    drafter=ModelEntry('a "quoted" name'),
    machine=MachineEntry("box", "593 GB"),
    engine=EngineEntry("sglang==0.5.23"),
    strategies=StrategiesEntry(("plain", "ddtree:32")),
    workload=Workload(4096, 3),
    options=Options(tensor_parallel=4, kv_cache_dtype="fp8_e4m3", memory_fraction=0.9),
)


@pytest.mark.parametrize("deployment", [FULL, Deployment(ModelEntry("m"))])
def test_written_and_read_back(tmp_path: Path, deployment: Deployment) -> None:
    path = tmp_path / "surefoot.toml"
    write_deployment(path, deployment)
    assert read_deployment(path) == deployment


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[target", "no TOML"),
        ("[workload]\ncontext = 5\n", "target"),
        ("[target]\nmodel = 5\n", "target.model"),
        ('[target]\nmodel = "m"\nmodle = "n"\n', "no 'modle'"),
        ('[target]\nmodel = "m"\n[machin]\non = "x"\n', r"unknown section \[machin\]"),
        ('[target]\nmodel = "m"\n[workload]\ncontext = "long"\n', "workload.context"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "surefoot.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_deployment(path)


def test_a_missing_file_says_how_to_write_one(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_deployment(tmp_path / "no.toml")
    assert caught.value.remedy == "surefoot init writes one"


def test_a_workload_of_nothing_is_wrong_use() -> None:
    with pytest.raises(UsageError):
        Workload(0, 1)


def test_the_lock_pins_files_and_commands(tmp_path: Path) -> None:
    case = kimi()
    answer = judged(case, "plain", "dflash")
    lock = make_lock(answer, case.host, case.target_snapshot, case.drafter_snapshot, {"torch": "2.11.0"})
    write_lock(tmp_path / "surefoot.lock.json", lock)
    again = read_record(tmp_path / "surefoot.lock.json", Lock)
    assert again == lock
    assert len(again.target.files) == len(case.target_snapshot.files)
    assert again.commands["dflash"][:3] == ("python", "-m", "sglang.launch_server")
    assert again.machine.memory == (97_887 * 2**20,) * 8
