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
