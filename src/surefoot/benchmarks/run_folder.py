"""A run on disk: `run.json` (conditions), `answers.jsonl` (as they come), `comparison.json` (when it ends)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from surefoot.benchmarks.answers import Answer, Conditions
from surefoot.benchmarks.comparison import Comparison
from surefoot.errors import InputError
from surefoot.records import from_json, read_record, write_record


@dataclass(frozen=True)
class BenchRun:
    """A whole run, as `--json` writes it. `complete` is false when it was interrupted."""

    conditions: Conditions
    comparison: Comparison
    answers: tuple[Answer, ...]
    complete: bool


class RunFolder:
    """Writes one run; whatever was kept survives a kill."""

    def __init__(self, path: Path, conditions: Conditions) -> None:
        """Claim `path`, which must not hold a run yet. Raises `InputError`."""
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._answers = (path / "answers.jsonl").open("xb")
        except FileExistsError as error:
            raise InputError(f"{path} holds a run already", remedy="name another folder with --out") from error
        except OSError as error:
            raise InputError(f"cannot write into {path}: {error.strerror}", remedy="name another --out") from error
        write_record(path / "run.json", conditions)

    def keep(self, answer: Answer) -> None:
        try:
            self._answers.write(msgspec.json.encode(answer) + b"\n")
            self._answers.flush()
        except OSError as error:
            raise InputError(
                f"cannot write {self.path / 'answers.jsonl'}: {error.strerror}",
                remedy="free space; the answers written so far are kept",
            ) from error

    def finish(self, run: BenchRun) -> None:
        self._answers.close()
        write_record(self.path / "comparison.json", run)


def read_run(path: Path) -> BenchRun:
    """A run that ended or was interrupted in order. Raises `InputError`."""
    return read_record(path / "comparison.json", BenchRun)


def read_answers(path: Path) -> tuple[Answer, ...]:
    """The answers of a run that was killed; a torn last line is left out. Raises `InputError`."""
    file = path / "answers.jsonl"
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    whole = data[: data.rfind(b"\n") + 1]
    return tuple(from_json(line, Answer, source=str(file)) for line in whole.splitlines())


def new_run_path(root: Path) -> Path:
    """A folder name under `root` that is not taken: the time, and a number where needed."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (stamp if n == 0 else f"{stamp}-{n}" for n in range(1000))
    return next(root / name for name in names if not (root / name).exists())
