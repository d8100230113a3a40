"""Records of published releases: what they hold is what the wheel holds."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from surefoot.engines.attention import abilities, candidates, default_backend
from surefoot.engines.releases import known_release, known_releases, newest_release, read_release
from surefoot.errors import InputError, UsageError

from .conftest import wheel_of


@pytest.mark.parametrize("release", [name for name in known_releases() if name.startswith("sglang")])
def test_the_record_is_what_the_wheel_says(release: str) -> None:
    kind, _, version = release.partition("==")
    assert read_release(wheel_of(release)) == known_release(kind, version)


def test_releases_are_in_order() -> None:
    assert known_releases()[:2] == ("sglang==0.5.11", "sglang==0.5.23")
    assert newest_release("sglang").version == "0.5.23"  # type: ignore[union-attr]
    assert newest_release("tensorrt") is None
    assert known_release("sglang", "0.0.1") is None


def test_pins_stand_for_installed_versions() -> None:
    packages = known_release("sglang", "0.5.11").packages  # type: ignore[union-attr]
    assert packages is not None
    assert packages["torch"] == "2.11.0"
    assert packages["transformers"] == "5.6.0"


def test_other_and_torn_wheels(tmp_path: Path) -> None:
    torn = tmp_path / "sglang-1.0-py3-none-any.whl"
    torn.write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(InputError, match="cannot read the wheel"):
        read_release(torn)
    with pytest.raises(UsageError, match="no wheel of"):
        read_release(tmp_path / "numpy-1.0-py3-none-any.whl")


@pytest.mark.parametrize("version", ["0.5.11", "0.5.23"])
def test_every_backend_in_the_table_is_in_some_release(version: str) -> None:
    engine = known_release("sglang", version)
    assert engine is not None
    named = {row.name for row in abilities().backend}
    shown = {entry.name for entry in candidates(engine, mla=True, sm=120, strategy="plain")}
    unknown = {entry.name for entry in candidates(engine, mla=True, sm=120, strategy="plain") if entry.works is None}
    assert shown - unknown <= named
    assert named & shown


def test_a_mask_is_read_where_the_sources_read_one() -> None:
    """The table's `tree` for MLA against the backend's own source: does it touch `custom_mask` at all?"""
    with zipfile.ZipFile(wheel_of("sglang==0.5.23")) as wheel:
        folder = "sglang/srt/layers/attention/"
        for name in ("trtllm_mla", "cutedsl_mla", "triton"):
            text = wheel.read(f"{folder}{name}_backend.py").decode()
            row = next(row for row in abilities().backend if row.name == name)
            assert ("custom_mask" in text) == ("mla" in row.tree), name


@pytest.mark.parametrize(
    ("mla", "sm", "family", "backend"),
    [
        (True, 120, True, "triton"), (True, 100, True, "trtllm_mla"), (True, 100, False, "flashinfer"),
        (True, 90, True, "fa3"), (False, 90, False, "fa3"), (False, 100, False, "trtllm_mha"),
        (False, 120, False, "flashinfer"), (False, 89, False, "flashinfer"),
    ],
)  # fmt: skip
def test_the_default_backend(mla: bool, sm: int, family: bool, backend: str) -> None:
    assert default_backend(mla=mla, sm=sm, deepseek_family=family) == backend
