"""The terminal card of a checkpoint: what it is, what it weighs, where the bytes are, what is unusual."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from surefoot.checkpoints.architecture import Architecture
from surefoot.checkpoints.checkpoint import Checkpoint
from surefoot.checkpoints.drafter import DrafterKind
from surefoot.checkpoints.inspection import Inspection
from surefoot.evidence import Fact, Finding, Level
from surefoot.units import both

_MARKS = {
    Level.BLOCKER: ("✗", "bold red"), Level.UNKNOWN: ("?", "magenta"), Level.WARNING: ("!", "yellow"),
    Level.NOTE: ("·", "cyan"), Level.OK: ("✓", "green"),
}  # fmt: skip
_ORDER = list(_MARKS)


def print_card(console: Console, inspection: Inspection, *, facts: bool = False) -> None:
    """Print the card; `facts` adds every value with the place it was read from."""
    console.print(checkpoint_card(inspection.target, "target" if inspection.drafter else "checkpoint"))
    if facts:
        console.print(_fact_table(inspection.target.model))
    if inspection.drafter is not None:
        console.print(checkpoint_card(inspection.drafter, "drafter"))
        if facts:
            console.print(_fact_table(inspection.drafter.model))
    if inspection.pair is not None:
        console.print(Panel(findings_text(inspection.pair.findings), title="fit", title_align="left"))
    console.print(Text(f"verdict: {inspection.verdict}", style="bold"))


def checkpoint_card(checkpoint: Checkpoint, role: str) -> RenderableType:
    """One panel for one checkpoint."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    for name, value in _rows(checkpoint):
        rows.add_row(name, Text(value))
    parts: list[RenderableType] = [rows]
    if checkpoint.weights.components:
        parts += [Text(), _bytes_table(checkpoint)]
    parts += [Text(), findings_text(checkpoint.findings)]
    title = Text(f"{role}: {checkpoint.reference}")
    return Panel(Group(*parts), title=title, title_align="left")


def findings_text(findings: Iterable[Finding]) -> Text:
    """Findings, gravest first, each with its remedy."""
    text = Text()
    for finding in sorted(findings, key=lambda entry: _ORDER.index(entry.level)):
        mark, style = _MARKS[finding.level]
        if text:
            text.append("\n")
        text.append(f"{mark} ", style=style)
        text.append(finding.message)
        if finding.level in (Level.BLOCKER, Level.WARNING) and finding.evidence:
            text.append("".join(f"\n    {_fact_line(fact)}" for fact in finding.evidence[:6]), style="dim")
        if finding.remedy:
            text.append(f"\n    try: {finding.remedy}", style="italic")
    return text or Text("nothing unusual")


def _fact_line(fact: Fact) -> str:
    return f"{fact.name} = {fact.value}  [{fact.source}]"


def _rows(checkpoint: Checkpoint) -> Iterable[tuple[str, str]]:
    model = checkpoint.model
    if checkpoint.revision:
        yield "revision", checkpoint.revision
    if checkpoint.remark:
        yield "remark", checkpoint.remark
    access = {True: "granted", False: "refused", None: "unknown"}[checkpoint.access.granted]
    yield "access", f"{checkpoint.access.gate}, {access} (token: {checkpoint.access.token})"
    if model.classes or model.model_types:
        types = " > ".join(str(fact.value) for fact in reversed(model.model_types))
        yield "model", f"{', '.join(model.classes) or 'no class'} ({types or 'no model type'})"
        yield "config", f"text model at {model.text_path}" if model.text_path else "flat"
    if model.layers:
        kinds = " + ".join(f"{count} {label}" for label, count in model.layer_kinds.items())
        yield "layers", f"{len(model.layers)}: {kinds}"
    yield from _shape_rows(model)
    parameters = _parameters(checkpoint)
    if parameters:
        yield "parameters", parameters
    if checkpoint.drafter.kind is not DrafterKind.MODEL:
        yield "drafter", _drafter(checkpoint)
    yield "format", f"claimed {checkpoint.quantization.label}; stored {_stored(checkpoint)}"
    if checkpoint.quantization.kv_cache:
        yield "KV cache", f"{checkpoint.quantization.kv_cache} asked for by the checkpoint"
    weights = checkpoint.weights
    if weights.file_bytes:
        yield "weights", f"{both(weights.file_bytes)} in {weights.files} files"
    yield "download", both(checkpoint.download_bytes)
    if checkpoint.drafter.kind is DrafterKind.MODEL and model.layers:
        state = checkpoint.exactness.state_bytes
        yield "draft trees", f"{checkpoint.exactness.kind}" + (f", {both(state)} a node" if state else "")


def _shape_rows(model: Architecture) -> Iterable[tuple[str, str]]:
    heads = next((layer for layer in model.layers if layer.heads), None)
    if heads is not None:
        text = f"hidden {model.hidden_size}, {heads.heads} heads"
        if model.latent is not None:
            latent = model.latent
            text += (
                f", MLA kv rank {latent.kv_lora_rank} + rope {latent.qk_rope_head_dim}, "
                f"q rank {latent.q_lora_rank}, nope {latent.qk_nope_head_dim}, value {latent.v_head_dim}"
            )
        else:
            text += f", {heads.kv_heads} key-value heads of {heads.head_dim}"
        yield "attention", text
    if model.moe is not None:
        moe = model.moe
        dense = sum(layer.mlp == "dense" for layer in model.layers)
        yield (
            "experts",
            (
                f"{moe.experts} routed, top {moe.top_k}, {moe.shared} shared, width {moe.expert_size}"
                + (f"; {dense} dense layers" if dense else "")
            ),
        )
    if model.context is not None:
        rope = model.rope
        scaling = f", {rope.kind} x{rope.factor:g}" if rope and rope.factor and rope.kind else ""
        yield "context", f"{model.context} tokens{scaling}; vocabulary {model.vocab_size}"
    extras = [f"{tower.kind} tower ({tower.layers} layers)" for tower in model.towers]
    if model.mtp_layers:
        extras.append(f"{model.mtp_layers} MTP layers")
    if extras:
        yield "beside", ", ".join(extras)


def _parameters(checkpoint: Checkpoint) -> str:
    weights, by_config = checkpoint.weights, checkpoint.promised
    if weights.text_parameters:
        active = f", {weights.active_parameters / 1e9:.2f} B active" if weights.active_parameters else ""
        return f"{weights.text_parameters / 1e9:.2f} B in the text model{active} (from tensors)"
    if by_config is not None and checkpoint.drafter.kind is DrafterKind.MODEL:
        return f"{by_config.total / 1e9:.2f} B, {by_config.active / 1e9:.2f} B active (from the config)"
    return ""


def _drafter(checkpoint: Checkpoint) -> str:
    drafter = checkpoint.drafter
    parts = [str(drafter.kind)]
    if drafter.block_size is not None:
        parts.append(f"block {drafter.block_size}")
    if drafter.taps:
        parts.append(f"taps {', '.join(map(str, drafter.taps))}")
    if drafter.target_layers is not None:
        parts.append(f"for {drafter.target_layers} layers")
    if drafter.mask_token_id is not None:
        parts.append(f"mask token {drafter.mask_token_id}")
    if drafter.window is not None:
        parts.append(f"window {drafter.window}")
    return "; ".join(parts)


def _stored(checkpoint: Checkpoint) -> str:
    formats = checkpoint.weights.formats
    if not formats:
        return "unknown (no header read)"
    shown = [entry.format + (f" group {entry.group_size}" if entry.group_size else "") for entry in formats]
    return ", ".join(dict.fromkeys(shown))


def _bytes_table(checkpoint: Checkpoint) -> Table:
    weights = checkpoint.weights
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("where the bytes are")
    for name in ("size", "share", "tensors"):
        table.add_column(name, justify="right")
    for entry in (*weights.components, *weights.dtypes):
        share = f"{100 * entry.bytes / weights.bytes:.1f} %" if weights.bytes else ""
        table.add_row(entry.name, both(entry.bytes), share, str(entry.tensors))
    return table


def _fact_table(model: Architecture) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("value", "", "read at"):
        table.add_column(name, overflow="fold")
    for fact in (*model.model_types, *model.facts):
        table.add_row(fact.name, str(fact.value), f"{fact.source} ({fact.method})")
    return table
