"""`surefoot probe` from the outside: output, files, exit codes."""

import json
import subprocess
import sys
from pathlib import Path

from surefoot.hosts import read_host


def surefoot(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "surefoot", *args], capture_output=True, text=True, timeout=120)


def test_summary_and_machine_json(tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "machine.json"
    done = surefoot("probe", "-o", str(path))
    assert done.returncode == 0, done.stderr
    assert "memory" in done.stdout
    assert read_host(path).machine.name == "localhost"


def test_json_on_standard_output() -> None:
    done = surefoot("probe", "--json")
    assert json.loads(done.stdout)["machine"]["origin"] == "probed"


def test_a_host_that_looks_like_an_option_is_wrong_use() -> None:
    done = surefoot("probe", "--", "-oProxyCommand=touch /tmp/owned")
    assert done.returncode == 2
    assert "not a host name" in done.stderr


def test_a_host_that_cannot_be_asked_is_unknown() -> None:
    done = surefoot("probe", "host.invalid")
    assert done.returncode == 3
    assert done.stderr.startswith("error: host.invalid: its name cannot be resolved")


def test_an_engine_s_refusal_is_a_failure(tmp_path: Path) -> None:
    package = tmp_path / "env" / "lib" / "python3.11" / "site-packages" / "sglang" / "srt"
    package.mkdir(parents=True)
    (package / "server_args.py").write_text("def prepare_server_args(argv):\n    raise ValueError('no such model')\n")
    (tmp_path / "env" / "bin").mkdir()
    python = tmp_path / "env" / "bin" / "python3"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{package.parent.parent}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    done = surefoot("probe", "--search", str(tmp_path / "env"), "--ask-engine", "--model-path x")
    assert done.returncode == 1, done.stderr
    assert "dies of" in done.stdout
    assert "ValueError: no such model" in done.stdout


def test_asking_an_engine_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    done = surefoot("probe", "--ask-engine", "--model-path 'unclosed")
    assert done.returncode == 2
    assert "No closing quotation" in done.stderr


def test_an_answer_fetched_by_hand_becomes_machine_json(tmp_path: Path) -> None:
    ship = subprocess.run([sys.executable, "-m", "surefoot.hosts.ship"], capture_output=True, text=True, check=True)
    (tmp_path / "probe.py").write_text(ship.stdout)
    printed = subprocess.run([sys.executable, tmp_path / "probe.py"], capture_output=True, check=True).stdout
    answer, path = tmp_path / "answer.txt", tmp_path / "machine.json"
    answer.write_bytes(b"Welcome to the cluster\n" + printed)
    done = surefoot("probe", "gpu-box", "--answer", str(answer), "-o", str(path))
    assert done.returncode == 0, done.stderr
    assert read_host(path).machine.name == "gpu-box"
    assert read_host(path).machine.memory is not None
    answer.write_bytes(printed[:-60])
    assert "cut off" in surefoot("probe", "gpu-box", "--answer", str(answer)).stderr
    answer.write_bytes(b"nothing of the kind\n")
    assert "no probe's answer is in it" in surefoot("probe", "gpu-box", "--answer", str(answer)).stderr
