"""The catalog against the data sheets: bytes as the driver reports them, links, SM."""

import pytest

from surefoot.errors import UnknownError, UsageError
from surefoot.machines import Machine, Origin, catalog_names, known_machine
from surefoot.records import from_json, to_json


@pytest.mark.parametrize("name", catalog_names())
def test_every_entry_loads_has_sources_and_survives_json(name: str) -> None:
    machine = known_machine(name)
    assert machine.origin is Origin.CATALOG
    assert any(source.startswith("https://") for source in machine.sources)
    assert all(gpu.sm and (gpu.memory_total or gpu.unified_memory) for gpu in machine.gpus)
    count = len(machine.gpus)
    assert machine.accelerators is not None
    assert len(machine.accelerators.links) == count * (count - 1) // 2
    assert from_json(to_json(machine), Machine, source="test") == machine


def test_the_machine_of_the_founding_case() -> None:
    machine = known_machine("rtx-pro-6000x8")
    assert len(machine.gpus) == 8
    assert {gpu.sm for gpu in machine.gpus} == {120}
    assert sum(gpu.memory_total or 0 for gpu in machine.gpus) == 8 * 97_887 * 1_048_576
    assert machine.accelerators is not None
    assert {link.kind for link in machine.accelerators.links} == {"pcie"}
    assert machine.disks is None
    assert "single host" in machine.why_unknown("disks")


def test_the_machines_the_catalog_promises() -> None:
    promised = "rtx-pro-6000x1 rtx-pro-6000x2 rtx-pro-6000x4 rtx-pro-6000x8 h100x8 h200x8 b200x8 b300x8"
    promised += " gb200x4 gb300x4 rtx-4090x1 rtx-5090x1 l40sx8 a100x8 dgx-spark"
    assert set(promised.split()) <= set(catalog_names())


def test_unified_memory_is_no_gpu_memory() -> None:
    spark = known_machine("dgx-spark")
    assert spark.gpus[0].memory_total is None
    assert spark.memory is not None
    assert spark.memory.total == 128_501_256_192


def test_unknown_name_suggests_close_ones() -> None:
    with pytest.raises(UsageError, match="rtx-pro-6000x8"):
        known_machine("rtx-pro-6000-x8")


def test_gpus_that_could_not_be_learned_are_not_no_gpus() -> None:
    with pytest.raises(UnknownError, match="was not asked for"):
        _ = Machine(name="x", origin=Origin.PROBED).gpus
