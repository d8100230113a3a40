"""The header of a safetensors file: what it declares, checked against the file's size, without a weight byte.

Layout (safetensors format): 8 bytes little-endian header length, that many bytes of JSON, then the tensors.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import msgspec

from surefoot.checkpoints.dtypes import BITS
from surefoot.checkpoints.tensors import Tensor, declared_size
from surefoot.errors import InputError
from surefoot.evidence import Fact, Finding, Level

PREFIX = 8
MAX_HEADER = 100_000_000
"""Bytes; the safetensors library refuses longer headers too."""


@dataclass(frozen=True)
class Header:
    """Tensors of one file and what is wrong with their layout."""

    tensors: tuple[Tensor, ...]
    findings: tuple[Finding, ...] = ()


def header_length(prefix: bytes, *, source: str, file_size: int | None) -> int:
    """Bytes of JSON that follow the 8-byte `prefix`. Raises `InputError` when that cannot be."""
    if len(prefix) < PREFIX:
        raise InputError(f"{source} is no safetensors file: it has {len(prefix)} bytes")
    length: int = struct.unpack("<Q", prefix[:PREFIX])[0]
    if length > MAX_HEADER or (file_size is not None and length > file_size - PREFIX):
        raise InputError(f"{source} claims a header of {length} bytes, which cannot be")
    return length


def parse_header(data: bytes, *, source: str, file_size: int | None) -> Header:
    """Read the JSON part of a header. `file_size` is that of the whole file, None when unknown.

    Raises:
        InputError: not JSON, or an entry without type, shape and offsets.
    """
    try:
        entries = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the header of {source} is torn: {error}") from error
    tensors: list[Tensor] = []
    spans: list[tuple[int, int, str]] = []
    findings: list[Finding] = []
    for name, entry in entries.items():
        if name == "__metadata__":
            continue
        tensor, begin, end = _entry(name, entry, source)
        tensors.append(tensor)
        spans.append((begin, end, name))
        declared = declared_size(tensor.dtype, tensor.shape)
        if declared is not None and declared != end - begin:
            message = f"{name} in {source} needs {declared} bytes and has {end - begin}"
            findings.append(Finding(Level.BLOCKER, "tensor-size-wrong", message))
    unknown = sorted({tensor.dtype for tensor in tensors} - BITS.keys())
    if unknown:
        message = f"{source} stores element types that are not known: {', '.join(unknown)[:200]}"
        findings.append(Finding(Level.WARNING, "tensor-type-unknown", message))
    room = None if file_size is None else file_size - PREFIX - len(data)
    findings.extend(_layout_findings(spans, room, source))
    return Header(tuple(tensors), tuple(findings))


def _entry(name: str, entry: Any, source: str) -> tuple[Tensor, int, int]:
    try:
        dtype, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        numbers = (*shape, begin, end)
        if not isinstance(dtype, str) or not all(type(n) is int and 0 <= n < 2**63 for n in numbers):
            raise ValueError
        if begin > end or len(shape) > 16:
            raise ValueError
    except (TypeError, KeyError, ValueError) as error:
        raise InputError(f"{source} declares {name[:200]!r} without a valid type, shape and place") from error
    return Tensor(name, dtype, shape, end - begin), begin, end


def _layout_findings(spans: list[tuple[int, int, str]], room: int | None, source: str) -> list[Finding]:
    """Overlaps, holes and a wrong end: at most one finding of each kind a file."""
    findings: dict[str, Finding] = {}
    position = 0
    for begin, end, name in sorted(spans):
        if begin < position and end > begin:
            message = f"{name} in {source} overlaps the tensor before it"
            findings.setdefault("tensors-overlap", Finding(Level.BLOCKER, "tensors-overlap", message))
        elif begin > position:
            message = f"{source} has {begin - position} bytes before {name} that belong to no tensor"
            findings.setdefault("tensor-gap", Finding(Level.WARNING, "tensor-gap", message))
        position = max(position, end)
    if room is not None and position != room:
        facts = (
            Fact("declared_bytes", position, f"{source}: header"),
            Fact("stored_bytes", room, f"{source}: size"),
        )
        what = "cut short" if position > room else "longer than its tensors"
        level = Level.BLOCKER if position > room else Level.WARNING
        message = f"{source} is {what}: {position} bytes declared, {room} stored"
        findings["shard-size-wrong"] = Finding(level, "shard-size-wrong", message, facts)
    return list(findings.values())
