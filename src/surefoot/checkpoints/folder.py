"""A checkpoint in a local folder: listing, small files, and the headers of its weight files."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from surefoot.checkpoints.safetensors_header import PREFIX, Header, header_length, parse_header
from surefoot.checkpoints.shards import INDEX, Index, join, missing_parts, parse_index, weight_files
from surefoot.checkpoints.snapshot import Access, Document, Gate, Origin, Snapshot, StoredFile
from surefoot.checkpoints.tensors import fold
from surefoot.errors import InputError
from surefoot.evidence import Finding, Level

DOCUMENTS = (
    "config.json", "generation_config.json", "hf_quant_config.json", "quantize_config.json",
    "quant_config.json", "tokenizer_config.json",
)  # fmt: skip
"""Small files kept whole in a snapshot."""

TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "tiktoken.model",
    "vocab.json",
    "merges.txt",
    "tekken.json",
)
"""Files that make a tokenizer what it is; compared by digest."""

MAX_DOCUMENT = 16 * 2**20
MAX_INDEX = 256 * 2**20
MAX_FILES = 20_000


def read_folder(folder: Path) -> Snapshot:
    """Everything about the checkpoint in `folder`.

    Raises:
        InputError: no such folder, not readable, or nothing in it.
    """
    findings: list[Finding] = []
    files = _listing(folder, findings)
    if not files:
        raise InputError(f"{folder} holds no files", remedy="name the folder that has config.json in it")
    documents = tuple(_documents(folder, files, findings))
    index = _index(folder, files, findings)
    weights = weight_files(files, index)
    headers: dict[str, Header] = {}
    for file in weights:
        if file.size == 0:
            continue
        try:
            headers[file.path] = _header(folder / file.path, file)
        except InputError as error:
            findings.append(Finding(Level.BLOCKER, "shard-unreadable", error.message, (), error.remedy))
    tensors, problems = join(headers, index)
    return Snapshot(
        reference=str(folder),
        origin=Origin.FOLDER,
        access=Access(Gate.LOCAL, True),
        files=files,
        documents=documents,
        tensors=fold(tensors),
        index=index.summary if index else None,
        findings=(*findings, *missing_parts(files, index), *problems),
    )


def _listing(folder: Path, findings: list[Finding]) -> tuple[StoredFile, ...]:
    """Files below `folder`. Linked files count, as in hub caches; linked folders are not entered."""
    files: list[StoredFile] = []
    try:
        for where, folders, names in os.walk(folder, onerror=_fail, followlinks=False):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(where, name)
                shown = path.relative_to(folder).as_posix()
                try:
                    shown.encode()
                    status = path.stat()
                except (OSError, UnicodeEncodeError):
                    message = f"{shown.encode(errors='replace').decode()} is a broken link or a torn name"
                    findings.append(Finding(Level.WARNING, "file-unreadable", message))
                    continue
                if not stat.S_ISREG(status.st_mode):
                    continue
                files.append(StoredFile(shown, status.st_size, _digests(path) if name in TOKENIZERS else ()))
                if len(files) > MAX_FILES:
                    raise InputError(f"{folder} holds more than {MAX_FILES} files: not a checkpoint")
    except OSError as error:
        raise InputError(f"cannot read {folder}: {error.strerror}") from error
    return tuple(files)


def _fail(error: OSError) -> None:
    raise error


def _digests(path: Path) -> tuple[str, ...]:
    """SHA-256 and git blob id, so that a file here can be compared with the listing of a hub."""
    size = path.stat().st_size
    if size > MAX_INDEX:
        return ()
    data = path.read_bytes()
    blob = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    blob.update(data)
    return (f"sha256:{hashlib.sha256(data).hexdigest()}", f"git:{blob.hexdigest()}")


def _text(path: Path, limit: int) -> str:
    """A text file of at most `limit` bytes. Raises `InputError`."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise InputError(f"cannot read {path.name}: {error.strerror}") from error
    return decoded(data, path.name, limit)


def decoded(data: bytes, name: str, limit: int) -> str:
    """`data` as text. Raises `InputError` when it is longer than `limit` bytes or not UTF-8."""
    if len(data) > limit:
        raise InputError(f"{name} is larger than {limit} bytes, which is no {name}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8: {error.reason} at byte {error.start}") from error


def _documents(folder: Path, files: tuple[StoredFile, ...], findings: list[Finding]) -> list[Document]:
    documents = []
    present = {file.path for file in files}
    for name in DOCUMENTS:
        if name in present:
            try:
                documents.append(Document(name, _text(folder / name, MAX_DOCUMENT)))
            except InputError as error:
                findings.append(Finding(Level.BLOCKER, "file-unreadable", error.message))
    return documents


def _index(folder: Path, files: tuple[StoredFile, ...], findings: list[Finding]) -> Index | None:
    if INDEX not in {file.path for file in files}:
        return None
    try:
        return parse_index(_text(folder / INDEX, MAX_INDEX))
    except InputError as error:
        findings.append(Finding(Level.BLOCKER, "index-unreadable", error.message))
        return None


def _header(path: Path, file: StoredFile) -> Header:
    try:
        with path.open("rb") as stream:
            length = header_length(stream.read(PREFIX), source=file.path, file_size=file.size)
            return parse_header(stream.read(length), source=file.path, file_size=file.size)
    except OSError as error:
        raise InputError(f"cannot read {file.path}: {error.strerror}") from error
