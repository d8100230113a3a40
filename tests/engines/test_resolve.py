"""Asking an engine: the protocol against stand-ins with the two generations of SGLang's interface.

The stand-ins have the functions of SGLang 0.5.23 and 0.5.11 that are called, and nothing of its rules.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from surefoot.engines import Engine, resolve_arguments
from surefoot.errors import UnknownError

COMMON = """
import argparse, dataclasses, logging, os
logger = logging.getLogger(__name__)

@dataclasses.dataclass
class ServerArgs:
    model_path: str
    attention_backend: str
    page_size: int = 1
    max_total_tokens: int = 4096
    api_key: str = "sesame"

def prepare_server_args(argv):
    parser = argparse.ArgumentParser(prog="sglang serve")
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--attention-backend", choices=["triton", "flashmla"], default="triton")
    raw = parser.parse_args(argv)
    logging.basicConfig(force=True)
    print("noise on standard output")
    args = ServerArgs(raw.model_path, raw.attention_backend)
    {after}
    return args

def resolve(args):
    if args.model_path == "crash":
        os.abort()
    if args.model_path == "missing":
        raise ValueError("DFLASH requires --speculative-draft-model-path")
    if args.attention_backend == "flashmla":
        logger.warning("FlashMLA only supports a page_size of %d", 64)
        args.page_size = 64
"""
NEW = (
    COMMON.format(after="")
    + """
ServerArgs.resolve_once = resolve
ServerArgs.resolved_dict = dataclasses.asdict
"""
)
OLD = COMMON.format(after="resolve(args)")


def engine(folder: Path, source: str) -> Engine:
    """An engine whose Python is this one with the stand-in on its path."""
    package = folder / "site" / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "srt" / "__init__.py").touch()
    (package / "srt" / "server_args.py").write_text(source)
    python = folder / "a python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}/site" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return Engine(kind="sglang", package=str(package), python=str(python))


@pytest.mark.parametrize(("source", "how"), [(NEW, "resolve_once"), (OLD, "prepare_server_args")])
def test_resolved_arguments_and_warnings_come_back(tmp_path: Path, source: str, how: str) -> None:
    arguments = ["--model-path", 'it\'s a "model" $HOME', "--attention-backend", "flashmla"]
    found = resolve_arguments(engine(tmp_path, source), arguments)
    assert found.error is None
    assert found.how == how
    assert found.command_line == tuple(arguments)
    assert found.arguments == {
        "model_path": 'it\'s a "model" $HOME',
        "attention_backend": "flashmla",
        "page_size": 64,
        "max_total_tokens": 4096,
    }
    assert found.warnings == ("FlashMLA only supports a page_size of 64",)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--model-path", "missing"], "ValueError: DFLASH requires --speculative-draft-model-path"),
        (["--model-path", "m", "--attention-backend", "fa9"], "invalid choice: 'fa9'"),
        ([], "required: --model-path"),
    ],
)
def test_what_it_would_have_died_of(tmp_path: Path, arguments: list[str], error: str) -> None:
    found = resolve_arguments(engine(tmp_path, NEW), arguments)
    assert found.arguments is None
    assert found.error is not None
    assert error in found.error


def test_an_engine_that_crashes_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(UnknownError, match="crashed with signal 6"):
        resolve_arguments(engine(tmp_path, NEW), ["--model-path", "crash"])


def test_an_engine_that_cannot_be_imported_says_so(tmp_path: Path) -> None:
    broken = engine(tmp_path, "import no_such_module_at_all\n")
    found = resolve_arguments(broken, ["--model-path", "m"])
    assert found.error == "ModuleNotFoundError: No module named 'no_such_module_at_all'"


def test_no_python_and_no_sglang() -> None:
    with pytest.raises(UnknownError, match="no Python belongs to"):
        resolve_arguments(Engine(kind="sglang", package="/x"), [])
    with pytest.raises(UnknownError, match="only sglang can"):
        resolve_arguments(Engine(kind="vllm", package="/x", python=sys.executable), [])
