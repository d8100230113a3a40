"""What the user named: a folder, a GGUF file, a saved snapshot, a lone config, or a repository on a hub."""

from __future__ import annotations

import re
from pathlib import Path

from surefoot.checkpoints.config import parse_object
from surefoot.checkpoints.folder import MAX_DOCUMENT, decoded, read_folder
from surefoot.checkpoints.gguf import read_gguf
from surefoot.checkpoints.snapshot import FORMAT, Access, Document, Gate, Origin, Snapshot, StoredFile
from surefoot.errors import InputError, UsageError
from surefoot.records import from_json

_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")


def read_local(reference: str) -> Snapshot | None:
    """The snapshot of something on this disk, None when `reference` is a repository id.

    Raises:
        UsageError: neither a path nor a repository id.
        InputError: a path that cannot be read as a checkpoint.
    """
    path = Path(reference).expanduser()
    try:
        if path.is_dir():
            return read_folder(path)
        if path.is_file():
            return read_gguf(path) if path.suffix == ".gguf" else _read_json(path)
        exists = path.exists()
    except (OSError, ValueError) as error:
        raise UsageError(f"not a path and not a repository id: {reference[:200]!r}") from error
    if exists:
        raise UsageError(f"{reference[:200]} is neither a file nor a folder")
    if _REPO.fullmatch(reference) and ".." not in reference:
        return None
    if reference.startswith(("/", "./", "../", "~")) or path.suffix in (".json", ".gguf"):
        raise InputError(f"there is no {reference[:200]}")
    raise UsageError(
        f"not a path and not a repository id: {reference[:200]!r}",
        remedy="name a folder, a .gguf, a saved snapshot, or OWNER/NAME of a repository",
    )


def _read_json(path: Path) -> Snapshot:
    """A saved snapshot, or a config.json on its own."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    text = decoded(data, path.name, 16 * MAX_DOCUMENT)
    document = parse_object(text, source=str(path))
    if not {"reference", "origin", "access"} <= document.keys():
        return Snapshot(
            reference=str(path),
            origin=Origin.CONFIG,
            access=Access(Gate.LOCAL, True),
            files=(StoredFile("config.json", len(data)),),
            documents=(Document("config.json", text),),
        )
    if document.get("format") != FORMAT:
        raise InputError(
            f"{path} is a snapshot of format {document.get('format')!r}, this version reads {FORMAT}",
            remedy="save it again with this version",
        )
    snapshot = from_json(data, Snapshot, source=str(path))
    for group in snapshot.tensors:
        group.check()
    if any(file.size < 0 for file in snapshot.files) or any(group.size < 0 for group in snapshot.tensors):
        raise InputError(f"{path} holds negative sizes")
    return snapshot
