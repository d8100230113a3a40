"""`import surefoot` and every `--help` must stay light."""

import subprocess
import sys

import pytest

from surefoot.cli import COMMANDS

CODE = """
import sys
sys.argv = ["surefoot", *{args!r}]
from surefoot.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
heavy = {{"torch", "transformers", "numpy"}} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize("args", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_no_heavy_package(args: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", CODE.format(args=args)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout
