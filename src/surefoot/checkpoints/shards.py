"""Weight files together: what they hold, and whether the index and the shards tell the same story."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from surefoot.checkpoints.safetensors_header import Header
from surefoot.checkpoints.snapshot import ShardIndex, StoredFile
from surefoot.checkpoints.tensors import Tensor
from surefoot.errors import InputError
from surefoot.evidence import Fact, Finding, Level

INDEX = "model.safetensors.index.json"
_PART = re.compile(r"(.*)-(\d{5,6})-of-(\d{5,6})\.(?:safetensors|gguf)")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_NOT_WEIGHTS = {"training_args.bin", "optimizer.pt", "scheduler.pt", "scaler.pt", "rng_state.pth"}
MAX_PARTS = 10_000


@dataclass(frozen=True)
class Index:
    """The index parsed: which shard holds which tensor."""

    summary: ShardIndex
    shard_of: dict[str, str]


def parse_index(text: str) -> Index:
    """Read `model.safetensors.index.json`. Raises `InputError` when it is none."""
    try:
        document = msgspec.json.decode(text, type=dict[str, Any])
        shard_of = msgspec.convert(document.get("weight_map"), dict[str, str])
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise InputError(f"{INDEX} is torn: {error}") from error
    metadata = document.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if not isinstance(total, int | float) or not 0 <= total < 2**63:
        total = None
    shards = tuple(sorted(set(shard_of.values())))
    summary = ShardIndex(len(shard_of), shards, None if total is None else int(total))
    return Index(summary, shard_of)


def weight_files(files: tuple[StoredFile, ...], index: Index | None) -> tuple[StoredFile, ...]:
    """The safetensors files that make up the model: those of the index, else `model*.safetensors` at the top,
    else every other one at the top that is not a known second copy."""
    candidates = [file for file in files if file.path.endswith(".safetensors")]
    if index is not None:
        named = set(index.summary.shards)
        return tuple(file for file in candidates if file.path in named)
    top = [file for file in candidates if "/" not in file.path]
    regular = [file for file in top if file.path.startswith("model")]
    others = [file for file in top if not file.path.startswith(("consolidated", "adapter"))]
    return tuple(regular or others or top)


def extra_copies(files: tuple[StoredFile, ...], used: tuple[StoredFile, ...]) -> tuple[Finding, ...]:
    """Weight files that a download of the whole repository would fetch on top, or nothing but pickles."""
    mine = {file.path for file in used}
    pickles = [f for f in files if f.path.endswith(_PICKLES) and f.path.split("/")[-1] not in _NOT_WEIGHTS]
    others = [f for f in files if f.path.endswith((".safetensors", ".gguf")) and f.path not in mine]
    if not used and pickles and not others:
        fact = Fact("pickle_bytes", sum(file.size for file in pickles), "file listing")
        message = f"the weights are pickles only ({len(pickles)} files): loading them runs code from the repository"
        remedy = "use a safetensors conversion of this model"
        return (Finding(Level.WARNING, "weights-pickled", message, (fact,), remedy),)
    extra = others + pickles if used else []
    if not extra:
        return ()
    size = sum(file.size for file in extra)
    patterns = sorted({_pattern(file.path) for file in extra})
    fact = Fact("extra_bytes", size, "file listing")
    message = f"{len(extra)} more weight files that the model does not need would be downloaded with it"
    remedy = " ".join(f"--exclude '{pattern}'" for pattern in patterns[:6])
    return (Finding(Level.WARNING, "extra-weight-copies", message, (fact,), remedy),)


def _pattern(path: str) -> str:
    folder, _, name = path.rpartition("/")
    suffix = name[name.rfind(".") :]
    return f"{folder}/*{suffix}" if folder else f"{re.split(r'[-.]', name)[0]}*{suffix}"


def missing_parts(files: tuple[StoredFile, ...], index: Index | None) -> tuple[Finding, ...]:
    """Shards that the index or the `-of-` numbering promise and the listing lacks, and empty ones."""
    present = {file.path for file in files}
    wanted = set(index.summary.shards) if index is not None else set()
    for file in files:
        match = _PART.fullmatch(file.path)
        if match and index is None and int(match[3]) <= MAX_PARTS:
            suffix = file.path.rpartition(".")[2]
            width, total = len(match[3]), int(match[3])
            wanted |= {f"{match[1]}-{n:0{width}}-of-{match[3]}.{suffix}" for n in range(1, total + 1)}
    findings = []
    missing = sorted(wanted - present)
    if missing:
        fact = Fact("missing_shards", len(missing), INDEX if index else "shard names")
        message = f"{len(missing)} of {len(wanted)} shards are missing, first {missing[0][:200]}"
        findings.append(Finding(Level.BLOCKER, "shards-missing", message, (fact,), "download the model again"))
    empty = [file.path for file in files if file.size == 0 and file.path.endswith((".safetensors", ".gguf"))]
    if empty:
        message = f"{len(empty)} weight files are empty, first {empty[0][:200]}"
        findings.append(Finding(Level.BLOCKER, "shard-empty", message, (), "download the model again"))
    return tuple(findings)


def join(headers: Mapping[str, Header], index: Index | None) -> tuple[tuple[Tensor, ...], tuple[Finding, ...]]:
    """The tensors of all shards, and where shards repeat each other or contradict the index."""
    findings = [finding for header in headers.values() for finding in header.findings]
    home: dict[str, str] = {}
    tensors: list[Tensor] = []
    repeated: list[str] = []
    for path, header in headers.items():
        for tensor in header.tensors:
            if tensor.name in home:
                repeated.append(tensor.name)
            else:
                home[tensor.name] = path
                tensors.append(tensor)
    if repeated:
        fact = Fact("repeated_tensors", len(repeated), "safetensors headers")
        message = f"{len(repeated)} tensors are stored more than once, first {repeated[0][:200]}"
        findings.append(Finding(Level.WARNING, "tensors-repeated", message, (fact,)))
    if index is not None:
        findings.extend(_against_index(home, headers, index))
    return tuple(tensors), tuple(findings)


def _against_index(home: Mapping[str, str], headers: Mapping[str, Header], index: Index) -> list[Finding]:
    """Tensors that only one side knows, or that lie in another shard than the index says."""
    read = {name: shard for name, shard in index.shard_of.items() if shard in headers}
    absent = sorted(read.keys() - home.keys())
    unlisted = sorted(home.keys() - index.shard_of.keys())
    moved = sorted(name for name, shard in read.items() if home.get(name, shard) != shard)
    findings = []
    for code, names, level, what in (
        ("index-tensor-absent", absent, Level.BLOCKER, "are in the index and in no shard"),
        ("index-tensor-unlisted", unlisted, Level.WARNING, "are in a shard and not in the index"),
        ("index-tensor-moved", moved, Level.BLOCKER, "lie in another shard than the index says"),
    ):
        if names:
            fact = Fact(code.replace("-", "_"), len(names), INDEX)
            message = f"{len(names)} tensors {what}, first {names[0][:200]}"
            findings.append(Finding(level, code, message, (fact,)))
    return findings
