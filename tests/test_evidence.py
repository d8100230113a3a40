from pathlib import Path

import pytest

from surefoot.errors import InputError
from surefoot.evidence import Fact, Finding, Level, Method, Verdict, judge
from surefoot.records import from_json, read_record, to_json, write_record

FINDING = Finding(
    Level.BLOCKER,
    "disk-too-small",
    "595 GB do not fit into 593 GB",
    (Fact("free_bytes", 593_000_000_000, "statvfs /data", Method.MEASURED),),
    "free 2 GB on /data",
)


def test_a_finding_survives_json_unchanged(tmp_path: Path) -> None:
    write_record(tmp_path / "a" / "finding.json", FINDING)
    assert read_record(tmp_path / "a" / "finding.json", Finding) == FINDING


def test_a_record_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    write_record(tmp_path / "finding.json", FINDING)
    (tmp_path / "other").write_text("")
    assert (tmp_path / "finding.json").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"level": "fatal"}', b"\xff\xfe"])
def test_torn_or_wrong_json_is_one_error(data: bytes) -> None:
    with pytest.raises(InputError, match=r"x\.json is not a valid Finding"):
        from_json(data, Finding, source="x.json")


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_record(tmp_path / "none.json", Finding)


@pytest.mark.parametrize(
    ("levels", "verdict", "code"),
    [
        ([], Verdict.GO, 0),
        ([Level.OK, Level.NOTE], Verdict.GO, 0),
        ([Level.WARNING, Level.OK], Verdict.GO_WITH_CHANGES, 0),
        ([Level.UNKNOWN, Level.WARNING], Verdict.UNKNOWN, 3),
        ([Level.UNKNOWN, Level.BLOCKER], Verdict.NO_GO, 1),
    ],
)
def test_judge(levels: list[Level], verdict: Verdict, code: int) -> None:
    assert judge(Finding(level, "x", "x") for level in levels) is verdict
    assert verdict.exit_code == code


def test_json_is_stable() -> None:
    assert to_json(FINDING) == to_json(from_json(to_json(FINDING), Finding, source="x"))
