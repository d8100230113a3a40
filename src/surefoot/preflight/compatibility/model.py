"""Whether this engine version has the target's class, and can hand its hidden states to a drafter."""

from __future__ import annotations

import json
from collections.abc import Iterator

from surefoot.checkpoints.snapshot import Snapshot
from surefoot.engines import Architecture
from surefoot.evidence import Fact, Finding, Level
from surefoot.preflight.case import Case


def judge_model(case: Case) -> Iterator[Finding]:
    """Findings about the target's class in the engine, and about its config."""
    yield from _known(case)
    yield from _nested(case)
    yield from _remote_code(case)


def known_class(case: Case) -> Architecture | None:
    """The engine's entry for the target's class."""
    return next((found for name in case.target.model.classes if (found := case.engine.architecture(name))), None)


def is_mla(case: Case) -> bool:
    """Whether the engine treats the target as multi-head latent attention: SGLang goes by the class name."""
    names = case.engine.mla_architectures
    if case.target.model.latent is None:
        return False
    return names is None or bool({*names, *(case.engine.mla_conditional_architectures or ())} & set(_classes(case)))


def _classes(case: Case) -> tuple[str, ...]:
    return case.target.model.classes


def _known(case: Case) -> Iterator[Finding]:
    name = ", ".join(_classes(case)) or "no class named"
    source = case.engine_seen
    if case.engine.kind == "surefoot":
        if not _embedded(case):
            message = "the embedded engine decodes the pair it comes with, no other model yet"
            yield Finding(Level.BLOCKER, "embedded-pair-only", message, remedy="--engine sglang or vllm")
        return
    if case.engine.architectures is None:
        yield Finding(Level.UNKNOWN, "model-class", f"which models {case.engine.package} has is unknown")
        return
    known = known_class(case)
    if known is None:
        fact = Fact("classes", len(case.engine.architectures), source)
        message = (
            f"{case.engine.package} has no {name}: the Transformers fallback serves it, if at all, and never drafts"
        )
        level = Level.BLOCKER if case.speculation.drafts else Level.WARNING
        yield Finding(
            level, "model-class-missing", message, (fact,), "a newer version of the engine, or another engine"
        )
        return
    fact = Fact(known.name, known.module, source)
    yield Finding(Level.OK, "model-class", f"{known.name} is in {case.engine.package}", (fact,))
    if case.target.model.latent is not None and not is_mla(case):
        message = f"{case.engine.package} does not list {name} as MLA: it would cache expanded heads"
        yield Finding(Level.WARNING, "mla-not-recognised", message, (fact,))


def _embedded(case: Case) -> bool:
    """Whether the target has the shape of SmolLM2-135M, the embedded one."""
    model = case.target.model
    return (model.text_type, model.hidden_size, len(model.layers)) == ("llama", 576, 30)


def _nested(case: Case) -> Iterator[Finding]:
    model = case.target.model
    if model.text_path:
        fact = Fact("text model", model.text_path, f"{case.target.reference}: config.json")
        message = f"the text model's values are nested under {model.text_path}: the top level has none of them"
        yield Finding(Level.NOTE, "config-nested", message, (fact,))


def _remote_code(case: Case) -> Iterator[Finding]:
    for snapshot in (case.target_snapshot, case.drafter_snapshot):
        if snapshot is not None and needs_remote_code(snapshot):
            fact = Fact("auto_map", "present", f"{snapshot.reference}: config.json or tokenizer_config.json")
            message = f"{snapshot.reference} brings its own code (auto_map): the launch needs --trust-remote-code"
            yield Finding(Level.NOTE, "remote-code", message, (fact,))


def needs_remote_code(snapshot: Snapshot) -> bool:
    """Whether config or tokenizer name classes in the repository's own files."""
    for name in ("config.json", "tokenizer_config.json"):
        text = snapshot.document(name)
        if text is not None:
            try:
                document = json.loads(text)
            except ValueError:
                continue
            if isinstance(document, dict) and "auto_map" in document:
                return True
    return False
