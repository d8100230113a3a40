"""A snapshot understood: architecture, weights, quantization, exactness, drafter, and what is unusual."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.checkpoints.architecture import Architecture
from surefoot.checkpoints.config import Json, parse_object
from surefoot.checkpoints.drafter import Drafter, DrafterKind, recognise
from surefoot.checkpoints.exactness import Exactness, exactness
from surefoot.checkpoints.gguf import described_config
from surefoot.checkpoints.normalise import normalise
from surefoot.checkpoints.parameters import Parameters, promised
from surefoot.checkpoints.quantization import Quantization, compare, read_claims
from surefoot.checkpoints.shards import INDEX, extra_copies, weight_files
from surefoot.checkpoints.snapshot import Access, Origin, Snapshot
from surefoot.checkpoints.tokenizer import Tokenizer, read_tokenizer
from surefoot.checkpoints.weights import Weights, weigh
from surefoot.errors import InputError
from surefoot.evidence import Fact, Finding, Level, Method

TOLERANCE = 0.01
"""Share by which tensors and config may differ in parameters (biases and small norms are not all counted)."""


@dataclass(frozen=True)
class Checkpoint:
    """All that is known about one checkpoint. `download_bytes` is the whole repository."""

    reference: str
    origin: Origin
    revision: str | None
    access: Access
    remark: str | None
    download_bytes: int
    model: Architecture
    weights: Weights
    quantization: Quantization
    exactness: Exactness
    promised: Parameters | None
    drafter: Drafter
    tokenizer: Tokenizer
    findings: tuple[Finding, ...]

    @property
    def is_drafter(self) -> bool:
        """True for a checkpoint that can only draft."""
        return self.drafter.kind is not DrafterKind.MODEL


def understand(snapshot: Snapshot) -> Checkpoint:
    """Everything that follows from a snapshot; nothing is read beyond it."""
    findings = [*snapshot.access.findings, *snapshot.findings]
    documents = _parsed(snapshot, findings)
    config = documents.get("config.json", {})
    model = normalise(config)
    claims = read_claims(documents)
    bits = next((claim.bits for claim in claims if claim.bits), None)
    index_shards = set(snapshot.index.shards) if snapshot.index else None
    used = weight_files(snapshot.files, None)
    if index_shards is not None:
        used = tuple(file for file in snapshot.files if file.path in index_shards)
    elif not used:
        used = tuple(file for file in snapshot.files if file.path.endswith(".gguf"))[:1]
    weights = weigh(snapshot, model, sum(file.size for file in used), len(used), bits)
    quantization = compare(claims, weights)
    by_config = promised(model)
    drafter = recognise(config, model)
    judged = exactness(model)
    findings.extend(model.findings if config else _no_config(snapshot))
    findings.extend(quantization.findings)
    findings.extend(extra_copies(snapshot.files, used))
    findings.extend(_sizes(snapshot, weights, by_config, drafter))
    if config and drafter.kind is DrafterKind.MODEL:
        findings.append(judged.finding)
    return Checkpoint(
        reference=snapshot.reference,
        origin=snapshot.origin,
        revision=snapshot.revision,
        access=snapshot.access,
        remark=snapshot.remark,
        download_bytes=snapshot.bytes,
        model=model,
        weights=weights,
        quantization=quantization,
        exactness=judged,
        promised=by_config,
        drafter=drafter,
        tokenizer=read_tokenizer(snapshot, documents),
        findings=tuple(dict.fromkeys(findings)),
    )


def _parsed(snapshot: Snapshot, findings: list[Finding]) -> dict[str, Json]:
    documents = {}
    for document in snapshot.documents:
        try:
            documents[document.path] = parse_object(document.text, source=document.path)
        except InputError as error:
            level = Level.BLOCKER if document.path == "config.json" else Level.WARNING
            findings.append(Finding(level, "file-torn", error.message[:300]))
    if snapshot.origin is Origin.GGUF and "gguf.json" in documents:
        documents["config.json"] = described_config(
            documents["gguf.json"], all(group.name != "output.weight" for group in snapshot.tensors)
        )
    return documents


def _no_config(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Nothing to normalise: the access findings say why when the files are closed to us."""
    if snapshot.access.granted is False or snapshot.document("config.json") is not None:
        return ()
    message = "there is no config.json: the architecture is unknown"
    return (Finding(Level.UNKNOWN, "config-missing", message),)


def _sizes(snapshot: Snapshot, weights: Weights, by_config: Parameters | None, drafter: Drafter) -> list[Finding]:
    """Totals that should be the same and are not."""
    findings = []
    stated = snapshot.index.total_size if snapshot.index else None
    if stated is not None and weights.tensors and stated != weights.bytes:
        facts = (
            Fact("total_size", stated, f"{INDEX}: metadata.total_size"),
            Fact("tensor_bytes", weights.bytes, "safetensors headers", Method.COMPUTED),
        )
        message = f"the index claims {stated} bytes of tensors, the shards hold {weights.bytes}"
        findings.append(Finding(Level.WARNING, "index-size-differs", message, facts))
    counted = weights.text_parameters
    if by_config is not None and counted and drafter.kind is DrafterKind.MODEL:
        facts = (
            Fact("parameters_by_config", by_config.total, "config.json", Method.COMPUTED),
            Fact("parameters_by_tensors", counted, "safetensors headers", Method.COMPUTED),
        )
        if abs(counted - by_config.total) > TOLERANCE * by_config.total:
            message = f"the config makes {by_config.total} parameters, the tensors hold {counted}"
            findings.append(Finding(Level.WARNING, "parameters-differ", message, facts))
        else:
            message = "config and tensors agree on the number of parameters"
            findings.append(Finding(Level.OK, "parameters-agree", message, facts))
    return findings
