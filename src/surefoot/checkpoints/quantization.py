"""Quantization from both sides: what the configs claim and what the tensors hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from surefoot.checkpoints.config import Json, lookup
from surefoot.checkpoints.held import UNQUANTISED
from surefoot.checkpoints.weights import Weights
from surefoot.evidence import Fact, Finding, Level

WIDTHS = frozenset(
    {"NVFP4", "MXFP4", "FP4", "FP8", "MXFP8", "INT2", "INT3", "INT4", "INT8", "NF4", "BF16", "F16"}
)  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """What one file says: the method that must load it, the formats of weights, who is left out."""

    source: str
    method: str | None
    formats: tuple[str, ...]
    bits: int | None
    group_size: int | None
    kv_cache: str | None
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quantization:
    """Claims, and what was found. `unquantised` are the components stored in plain floating point."""

    claims: tuple[Claim, ...]
    held: tuple[str, ...]
    unquantised: tuple[str, ...]
    kv_cache: str | None
    findings: tuple[Finding, ...]

    @property
    def label(self) -> str:
        """`INT4 (compressed-tensors, group 32)`, `none`, or both sides when they differ."""
        formats = sorted({name for claim in self.claims for name in claim.formats})
        if not self.claims:
            return " + ".join(self.held) or "none"
        method = next((claim.method for claim in self.claims if claim.method), None)
        group = next((claim.group_size for claim in self.claims if claim.group_size), None)
        detail = ", ".join(filter(None, (method, f"group {group}" if group else None)))
        return f"{' + '.join(formats) or 'unknown'} ({detail})" if detail else " + ".join(formats)


def read_claims(documents: dict[str, Json]) -> tuple[Claim, ...]:
    """Every claim in `config.json` (at any level), `hf_quant_config.json`, `quantize_config.json`."""
    claims = []
    config = documents.get("config.json", {})
    for path in (
        "quantization_config", "text_config.quantization_config", "llm_config.quantization_config",
        "language_config.quantization_config", "thinker_config.text_config.quantization_config",
        "compression_config",
    ):  # fmt: skip
        value = lookup(config, path)
        if isinstance(value, dict) and value:
            expert = lookup(config, "expert_dtype")
            claims.append(_claim(f"config.json: {path}", value, expert if isinstance(expert, str) else None))
    modelopt = documents.get("hf_quant_config.json", {}).get("quantization")
    if isinstance(modelopt, dict):
        claims.append(_claim("hf_quant_config.json: quantization", {"quant_method": "modelopt", **modelopt}, None))
    for name in ("quantize_config.json", "quant_config.json"):
        if documents.get(name):
            method = "gptq" if name == "quantize_config.json" else "awq"
            claims.append(_claim(name, {"quant_method": method, **documents[name]}, None))
    return tuple(claims)


def _claim(source: str, value: Json, expert_dtype: str | None) -> Claim:
    method = value.get("quant_method")
    method = method if isinstance(method, str) else _producer(value)
    weights = _group_weights(value)
    formats = _formats(value, method, weights)
    if expert_dtype is not None and "fp4" in expert_dtype.lower() and not formats & {"NVFP4", "MXFP4"}:
        formats |= {"MXFP4"}
    excluded: list[Any] = []
    for key in ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers"):
        found = value.get(key)
        excluded += found if isinstance(found, list) else []
    sizes = [value.get("group_size"), *(entry.get("group_size") for entry in weights)]
    widths = [value.get("bits"), value.get("w_bit"), *(entry.get("num_bits") for entry in weights)]
    return Claim(
        source=source,
        method=method,
        formats=tuple(sorted(formats)),
        bits=next((width for width in widths if _small(width)), None),
        group_size=next((size for size in sizes if _small(size)), None),
        kv_cache=_kv_cache(value),
        excluded=tuple(entry for entry in excluded if isinstance(entry, str)),
    )


def _small(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 4096


def _producer(value: Json) -> str | None:
    name = lookup(value, "producer.name")
    return name if isinstance(name, str) else None


def _group_weights(value: Json) -> list[Json]:
    groups = value.get("config_groups")
    members = groups.values() if isinstance(groups, dict) else []
    return [entry["weights"] for entry in members if isinstance(entry, dict) and isinstance(entry.get("weights"), dict)]


def _formats(value: Json, method: str | None, weights: list[Json]) -> set[str]:
    algorithm = value.get("quant_algo")
    formats: set[str] = set()
    if isinstance(algorithm, str):
        formats |= _algorithm(algorithm)
    layers = value.get("quantized_layers")
    for entry in layers.values() if isinstance(layers, dict) else []:
        named = entry.get("quant_algo") if isinstance(entry, dict) else None
        formats |= _algorithm(named) if isinstance(named, str) else set()
    if not formats:
        formats = {name for entry in weights if (name := _width(entry)) is not None}
    by_method = {"fp8": "FP8", "mxfp4": "MXFP4", "mxfp8": "MXFP8", "fbgemm_fp8": "FP8", "nvfp4": "NVFP4"}
    if method in by_method and (not formats or method == "fp8"):
        formats.add(by_method[method])
    bits = value.get("bits", value.get("w_bit"))
    if not formats and method in ("gptq", "awq", "auto-round", "gptq_marlin", "awq_marlin") and _small(bits):
        formats.add(f"INT{bits}")
    if method == "bitsandbytes":
        formats.add("INT8" if value.get("load_in_8bit") else "NF4")
    return formats


def _algorithm(name: str) -> set[str]:
    """Formats of a modelopt algorithm name such as `W4A16_NVFP4`, `FP8_PB_WO`, `W4A8_AWQ`."""
    upper = name.upper()
    for known in ("NVFP4", "MXFP4", "MXFP8", "FP8"):
        if known in upper:
            return {known}
    if upper.startswith("W4") or "INT4" in upper:
        return {"INT4"}
    return {"INT8"} if upper.startswith("W8") or "INT8" in upper else set()


def _width(weights: Json) -> str | None:
    """Format of a compressed-tensors weight scheme: type, bits, group size."""
    bits, kind = weights.get("num_bits"), weights.get("type")
    if not _small(bits) or kind not in ("int", "float"):
        return None
    if kind == "int":
        return f"INT{bits}"
    if bits == 4:
        return "NVFP4" if weights.get("group_size") == 16 else "MXFP4"
    return f"FP{bits}"


def _kv_cache(value: Json) -> str | None:
    """KV-cache type that the checkpoint asks for, `FP8` or what it is called."""
    named = value.get("kv_cache_quant_algo", value.get("kv_cache_scheme"))
    if isinstance(named, str):
        return named.upper()
    if isinstance(named, dict) and _small(named.get("num_bits")):
        return f"{'FP' if named.get('type') == 'float' else 'INT'}{named['num_bits']}"
    return None


def compare(claims: tuple[Claim, ...], weights: Weights) -> Quantization:
    """Hold claims against tensors, and against each other."""
    plain = [entry for entry in weights.formats if entry.format in UNQUANTISED]
    packed = [entry for entry in weights.formats if entry.format not in UNQUANTISED]
    held = tuple(entry.format for entry in packed)
    claimed = {name for claim in claims for name in claim.formats}
    findings = list(_among(claims))
    if weights.formats:
        evidence = [Fact("claimed", ", ".join(claim.formats) or None, claim.source) for claim in claims]
        evidence += [Fact("stored", entry.format, f"safetensors headers: {entry.example}") for entry in packed]
        findings.extend(_against(claimed, held, tuple(evidence)))
    unquantised = {name for entry in plain for name in entry.components}
    unquantised -= {name for entry in packed for name in entry.components} | {"norms", "routers"}
    wanted = {claim.kv_cache for claim in claims if claim.kv_cache}
    return Quantization(
        claims=claims,
        held=held,
        unquantised=tuple(sorted(unquantised)),
        kv_cache=min(wanted) if wanted else None,
        findings=tuple(findings),
    )


def _among(claims: tuple[Claim, ...]) -> list[Finding]:
    """Two files of the same checkpoint that name different formats."""
    told = [claim for claim in claims if claim.formats]
    if len({claim.formats for claim in told}) < 2:
        return []
    facts = tuple(Fact("claimed", ", ".join(claim.formats), claim.source) for claim in told)
    shared = set(told[0].formats).intersection(*(claim.formats for claim in told))
    level = Level.NOTE if shared else Level.WARNING
    message = "its files name different formats: " + "; ".join(f"{f.source} says {f.value}" for f in facts)
    return [Finding(level, "quantization-claims-differ", message, facts)]


def _against(claimed: set[str], held: tuple[str, ...], evidence: tuple[Fact, ...]) -> list[Finding]:
    same = {"FP4": "MXFP4", "MXFP8": "FP8", "NF4": "U8"}
    stored = {same.get(name, name) for name in held}
    said = {same.get(name, name) for name in claimed}
    if not said and not stored:
        return []
    if said and not stored:
        message = f"the config claims {', '.join(sorted(claimed))}, and no tensor is stored so"
        return [Finding(Level.BLOCKER, "quantization-contradiction", message, evidence)]
    if stored and not said:
        known = stored & WIDTHS
        if not known:
            return []
        message = f"tensors are stored as {', '.join(sorted(known))}, and no config says so"
        return [Finding(Level.WARNING, "quantization-unclaimed", message, evidence)]
    if stored - said:
        message = f"the config claims {', '.join(sorted(claimed))}, the tensors hold {', '.join(sorted(held))}"
        level = Level.WARNING if stored & said else Level.BLOCKER
        remedy = "trust the tensors: give the engine the format they hold, or ask the publisher to fix the config"
        return [Finding(level, "quantization-contradiction", message, evidence, remedy)]
    message = f"config and tensors agree: {', '.join(sorted(held))}"
    return [Finding(Level.OK, "quantization-agrees", message, evidence)]
