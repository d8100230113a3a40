"""Everything that was learned about a checkpoint without its weights: what all judgements stand on.

A snapshot can be saved and read back on another machine, so that planning needs no hub and no files.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from surefoot.checkpoints.tensors import TensorGroup
from surefoot.evidence import Finding

FORMAT = 1


class Origin(StrEnum):
    """Where a snapshot was taken. `reconstructed`: computed from published figures, no file was seen."""

    HUB = "hub"
    CACHE = "cache"
    FOLDER = "folder"
    GGUF = "gguf"
    CONFIG = "config file"
    RECONSTRUCTED = "reconstructed"


class Gate(StrEnum):
    """How a repository lets people in. `hidden`: private or missing, the hub does not tell which."""

    OPEN = "open"
    GATED = "gated"
    GATED_MANUAL = "gated, manual approval"
    PRIVATE = "private"
    MISSING = "missing"
    HIDDEN = "private or missing"
    DISABLED = "disabled"
    LOCAL = "local"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Access:
    """Whether the files can be had. `granted` None is unknown. `token` is its source, never its value."""

    gate: Gate
    granted: bool | None
    token: str = "none"
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class StoredFile:
    """A file of the checkpoint. `digests` are `sha256:...` or `git:...` (blob id), those that are known."""

    path: str
    size: int
    digests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """A small file kept as it is (config.json, tokenizer_config.json ...)."""

    path: str
    text: str


@dataclass(frozen=True)
class ShardIndex:
    """What `model.safetensors.index.json` says: tensors it maps, shards it names, total size it claims."""

    tensors: int
    shards: tuple[str, ...]
    total_size: int | None


@dataclass(frozen=True)
class Snapshot:
    """A checkpoint as found. `reference` is what was asked for, `revision` the commit it was pinned to.
    `tensors` is empty when no header could be read; `findings` are about the reading itself."""

    reference: str
    origin: Origin
    access: Access
    revision: str | None = None
    files: tuple[StoredFile, ...] = ()
    documents: tuple[Document, ...] = ()
    tensors: tuple[TensorGroup, ...] = ()
    index: ShardIndex | None = None
    findings: tuple[Finding, ...] = ()
    remark: str | None = None
    format: int = FORMAT

    def document(self, path: str) -> str | None:
        """Text of a kept file, None when it was not there."""
        return next((entry.text for entry in self.documents if entry.path == path), None)

    @property
    def bytes(self) -> int:
        """Bytes of all files: what a plain download of the whole repository takes."""
        return sum(file.size for file in self.files)
