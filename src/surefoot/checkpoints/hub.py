"""A checkpoint on a hub: listing, small files, headers by range request; a few round trips deep."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from huggingface_hub import constants, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

from surefoot.checkpoints.config import Json, parse_object
from surefoot.checkpoints.folder import DOCUMENTS, MAX_DOCUMENT, MAX_FILES, MAX_INDEX, decoded, read_folder
from surefoot.checkpoints.hub_access import gate_of, granted, refused
from surefoot.checkpoints.hub_requests import HTTPError, HubRequests, token_source
from surefoot.checkpoints.safetensors_header import PREFIX, Header, header_length, parse_header
from surefoot.checkpoints.shards import INDEX, Index, join, missing_parts, parse_index, weight_files
from surefoot.checkpoints.snapshot import Access, Document, Gate, Origin, Snapshot, StoredFile
from surefoot.checkpoints.tensors import fold
from surefoot.errors import InputError
from surefoot.evidence import Finding, Level

T = TypeVar("T")

FIRST_READ = 128 * 1024
"""Bytes of a shard read at first; most headers end within."""

WORKERS = 64


def read_hub(repository: str, revision: str | None, log: Callable[[str], None] | None) -> Snapshot:
    """The snapshot of a repository, pinned to a commit. Refused access is part of the snapshot, not an error.

    Raises:
        InputError: offline, and the repository is not in the cache.
    """
    if constants.HF_HUB_OFFLINE:
        return _from_cache(repository, revision)
    requests, token = HubRequests(repository, log), token_source()
    with ThreadPoolExecutor(WORKERS) as pool:
        asked = pool.submit(requests.api, "/auth-check")
        try:
            info = _info(requests, revision)
        except (HfHubHTTPError, HTTPError) as error:
            return Snapshot(repository, Origin.HUB, refused(error, repository, None, token))
        access = _access(asked, repository, gate_of(info), token)
        files = _listing(info)
        commit = info.get("sha") if isinstance(info.get("sha"), str) else None
        empty = Snapshot(repository, Origin.HUB, access, commit, files)
        if not access.granted:
            return empty
        return _filled(empty, _Reader(requests, pool, commit or revision or "main"))


def _info(requests: HubRequests, revision: str | None) -> Json:
    path = "" if revision is None else f"/revision/{quote(revision, safe='')}"
    text = decoded(requests.api(f"{path}?blobs=true"), "the hub's answer", 64 * 2**20)
    return parse_object(text, source=f"the hub's answer about {requests.repository}")


def _access(asked: Future[bytes], repository: str, gate: Gate, token: str) -> Access:
    try:
        asked.result()
    except (HfHubHTTPError, HTTPError) as error:
        return refused(error, repository, gate, token)
    return granted(gate, token)


def _listing(info: Json) -> tuple[StoredFile, ...]:
    """Files with sizes and digests, as `?blobs=true` lists them."""
    files = []
    siblings = info.get("siblings")
    for entry in siblings[:MAX_FILES] if isinstance(siblings, list) else []:
        path, size, lfs = (entry.get(key) for key in ("rfilename", "size", "lfs"))
        if not isinstance(path, str) or not isinstance(size, int) or size < 0:
            continue
        digests = []
        if isinstance(lfs, dict) and isinstance(lfs.get("sha256"), str):
            digests.append(f"sha256:{lfs['sha256']}")
        elif isinstance(entry.get("blobId"), str):
            digests.append(f"git:{entry['blobId']}")
        files.append(StoredFile(path, size, tuple(digests)))
    return tuple(files)


class _Reader:
    """Reads files of one commit, many at once."""

    def __init__(self, requests: HubRequests, pool: ThreadPoolExecutor, commit: str) -> None:
        self.requests, self.pool, self.commit = requests, pool, commit
        self.findings: list[Finding] = []

    def texts(self, wanted: dict[str, int]) -> dict[str, Future[bytes]]:
        """Start reading whole files; `wanted` maps paths to the most bytes they may have."""
        return {path: self.pool.submit(self.requests.file, path, self.commit, limit) for path, limit in wanted.items()}

    def headers(self, files: tuple[StoredFile, ...]) -> dict[str, Future[Header]]:
        """Start reading safetensors headers."""
        return {file.path: self.pool.submit(self._header, file) for file in files if file.size}

    def _header(self, file: StoredFile) -> Header:
        first = self.requests.range(file.path, self.commit, 0, min(FIRST_READ, file.size))
        length = header_length(first, source=file.path, file_size=file.size)
        data = first[PREFIX : PREFIX + length]
        if len(data) < length:
            start = PREFIX + len(data)
            data += self.requests.range(file.path, self.commit, start, length - len(data))
        if len(data) < length:
            raise InputError(f"the hub sent {len(data)} of {length} header bytes of {file.path}")
        return parse_header(data, source=file.path, file_size=file.size)

    def result(self, path: str, future: Future[T]) -> T | None:
        """The value, or None and a finding."""
        try:
            return future.result()
        except InputError as error:
            self.findings.append(Finding(Level.BLOCKER, "file-unreadable", error.message))
        except (HfHubHTTPError, HTTPError) as error:
            reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
            message = f"{path} could not be read from the hub: {reason}"
            self.findings.append(Finding(Level.UNKNOWN, "file-unreadable", message, (), "try again"))
        return None


def _filled(empty: Snapshot, reader: _Reader) -> Snapshot:
    """Documents, index and headers, all asked for at once; a second wave only where the index names more."""
    present = {file.path for file in empty.files}
    wanted = {name: MAX_DOCUMENT for name in DOCUMENTS if name in present}
    if INDEX in present:
        wanted[INDEX] = MAX_INDEX
    texts = reader.texts(wanted)
    started = reader.headers(weight_files(empty.files, None))
    found: dict[str, str] = {}
    for path, text in texts.items():
        data = reader.result(path, text)
        if data is not None:
            try:
                found[path] = decoded(data, path, wanted[path])
            except InputError as error:
                reader.findings.append(Finding(Level.BLOCKER, "file-unreadable", error.message))
    index = _index(found.pop(INDEX, None), reader)
    needed = weight_files(empty.files, index)
    started |= reader.headers(tuple(file for file in needed if file.path not in started))
    headers = {}
    for file in needed:
        if file.path in started and (header := reader.result(file.path, started[file.path])) is not None:
            headers[file.path] = header
    tensors, problems = join(headers, index)
    return replace(
        empty,
        documents=tuple(Document(path, text) for path, text in found.items()),
        tensors=fold(tensors),
        index=index.summary if index else None,
        findings=(*reader.findings, *missing_parts(empty.files, index), *problems),
    )


def _index(text: str | None, reader: _Reader) -> Index | None:
    if text is None:
        return None
    try:
        return parse_index(text)
    except InputError as error:
        reader.findings.append(Finding(Level.BLOCKER, "index-unreadable", error.message))
        return None


def _from_cache(repository: str, revision: str | None) -> Snapshot:
    """What the local cache holds of a repository."""
    try:
        folder = Path(snapshot_download(repository, revision=revision, local_files_only=True))
    except (LocalEntryNotFoundError, HfHubHTTPError, ValueError) as error:
        raise InputError(
            f"{repository} is not in the cache, and HF_HUB_OFFLINE forbids to ask the hub",
            remedy="unset HF_HUB_OFFLINE, or give a saved snapshot",
        ) from error
    snapshot = read_folder(folder)
    access = Access(Gate.LOCAL, True, token_source())
    return replace(snapshot, reference=repository, origin=Origin.CACHE, access=access, revision=folder.name)
