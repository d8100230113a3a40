"""The shipped program must run on the oldest Python it promises, from its own text alone."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.asking import build
from surefoot.hosts import program

SHIPPED = [
    path
    for folder in ("asking", "machines/probe", "engines/probe")
    for path in (Path(__file__).parents[2] / "src/surefoot" / folder).glob("*.py")
    if folder != "asking" or path.stem in ("commands", "parts")
]


def interpreters() -> list[str]:
    """This Python and every other python3.x that is on PATH and starts."""
    found = [sys.executable]
    for minor in range(8, 16):
        for folder in os.environ["PATH"].split(os.pathsep):
            path = os.path.join(folder, f"python3.{minor}")
            if os.path.exists(path) and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
                found.append(path)
                break
    return found


def answer(text: str, python: str = sys.executable, **more: object) -> dict[str, object]:
    done = subprocess.run([python, "-"], input=text, capture_output=True, text=True, timeout=60, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith("SUREFOOT-BEGIN ")
    assert lines[3].startswith("SUREFOOT-END ")
    loaded = json.loads(lines[2])
    assert isinstance(loaded, dict)
    return loaded


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_modules_are_python_38_and_standard_library_only(path: Path) -> None:
    tree = ast.parse(path.read_bytes(), feature_version=(3, 8))
    for node in ast.walk(tree):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in filter(None, names):
            top = name.split(".")[0]
            assert top in sys.stdlib_module_names or (top == "surefoot" and ("probe" in name or "asking" in name))


@pytest.mark.parametrize("python", interpreters())
def test_runs_on_every_python_here_in_a_folder_full_of_traps(python: str, tmp_path: Path) -> None:
    for trap in ("json.py", "ctypes.py", "surefoot.py"):
        (tmp_path / trap).write_text("raise SystemExit('trapped')")
    found = answer(program().text, python, cwd=tmp_path)
    assert {"system", "memory", "accelerators", "disks"} <= set(found["parts"])  # type: ignore[call-overload]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == [
        "ctypes.py",
        "json.py",
        "surefoot.py",
    ]


def test_options_with_quotes_and_newlines_arrive_unchanged(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s a "model" $HOME `folder` \\ with ünïcode'
    folder.mkdir()
    parts = answer(program(str(folder)).text)["parts"]
    disks = parts["disks"]["value"]  # type: ignore[index]
    assert [disk["path"] for disk in disks if disk["role"] == "model folder"] == [str(folder)]


def test_each_program_has_a_mark_of_its_own() -> None:
    assert program().mark != program().mark


def test_program_is_ascii_and_python_2_can_read_it_far_enough_to_refuse() -> None:
    text = build(["surefoot.machines.probe.machine"], {}).text
    assert text.isascii()
    old = text.replace("sys.version_info < (3, 8)", "True")
    assert "too old" in str(answer(old)["refused"])
