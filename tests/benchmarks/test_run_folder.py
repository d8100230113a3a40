from __future__ import annotations

from pathlib import Path

import pytest

from surefoot.benchmarks.comparison import compare
from surefoot.benchmarks.run_folder import BenchRun, RunFolder, new_run_path, read_answers, read_run
from surefoot.errors import InputError
from tests.benchmarks.scripted import CONDITIONS, answer


def test_a_run_is_read_back_unchanged(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", CONDITIONS)
    answers = (answer("plain"), answer("ddtree:4", seconds=0.5, accepted=[1, 2]))
    for one in answers:
        folder.keep(one)
    run = BenchRun(CONDITIONS, compare(answers, [], ["plain", "ddtree:4"], greedy=True), answers, complete=True)
    folder.finish(run)
    assert read_run(tmp_path / "run") == run
    assert read_answers(tmp_path / "run") == answers


def test_answers_of_a_killed_run_are_kept_without_the_torn_line(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", CONDITIONS)
    folder.keep(answer("plain"))
    with (tmp_path / "run" / "answers.jsonl").open("ab") as file:
        file.write(b'{"prompt": "p1", "se')
    assert read_answers(tmp_path / "run") == (answer("plain"),)
    with pytest.raises(InputError, match="cannot read"):
        read_run(tmp_path / "run")


def test_a_folder_is_never_written_twice(tmp_path: Path) -> None:
    RunFolder(tmp_path, CONDITIONS)
    with pytest.raises(InputError, match="holds a run already"):
        RunFolder(tmp_path, CONDITIONS)


def test_a_place_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write into"):
        RunFolder(tmp_path / "file" / "run", CONDITIONS)


def test_a_full_disk_is_one_error() -> None:
    folder = RunFolder.__new__(RunFolder)
    folder.path = Path("/dev")
    folder._answers = open("/dev/full", "wb")  # noqa: SIM115
    with pytest.raises(InputError, match="No space left"):
        folder.keep(answer("plain"))


def test_new_names_are_free(tmp_path: Path) -> None:
    first = new_run_path(tmp_path)
    first.mkdir()
    assert new_run_path(tmp_path) != first
