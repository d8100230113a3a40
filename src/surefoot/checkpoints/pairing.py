"""Does a drafter fit a target? One finding for each thing that must hold, with both sides as evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surefoot.checkpoints.checkpoint import Checkpoint
from surefoot.checkpoints.drafter import BLOCK_KINDS, Drafter, DrafterKind
from surefoot.checkpoints.snapshot import Snapshot
from surefoot.checkpoints.tokenizer import same_files
from surefoot.evidence import Fact, Finding, Level, Method, Verdict, judge

PARALLEL = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Pair:
    """A target and a drafter held against each other; `tensor_parallel` are sizes that divide both."""

    target: str
    drafter: str
    tensor_parallel: tuple[int, ...]
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """Sum of the findings."""
        return judge(self.findings)


def pair(target: Checkpoint, drafter: Checkpoint, snapshot: Snapshot) -> Pair:
    """Judge the pair; `snapshot` is the drafter's, for the shapes of its own tensors."""
    if drafter.model.hidden_size is None:
        message = "the drafter's config could not be read, so its fit is unknown"
        finding = Finding(Level.UNKNOWN, "drafter-unknown", message)
        return Pair(target.reference, drafter.reference, (), (finding,))
    findings = [
        *_width(target, drafter, snapshot),
        *_taps(target, drafter.drafter),
        *_depth(target, drafter.drafter),
        *_vocabulary(target, drafter),
        *_mask(target, drafter),
        *_context(target, drafter),
        *_block(drafter.drafter),
        *_dtype(target, drafter),
    ]
    sizes = tuple(size for size in PARALLEL if _divides(target, size) and _divides(drafter, size))
    shown = ", ".join(map(str, sizes))
    fact = Fact("tensor_parallel", shown, "head counts of both configs", Method.COMPUTED)
    message = f"tensor parallel sizes that divide both: {shown}"
    findings.append(Finding(Level.OK if sizes[1:] else Level.WARNING, "tensor-parallel", message, (fact,)))
    return Pair(target.reference, drafter.reference, sizes, tuple(findings))


def _of(name: str, value: int | str | None, checkpoint: Checkpoint) -> Fact:
    return Fact(name, value, f"{checkpoint.reference}: config.json")


def _width(target: Checkpoint, drafter: Checkpoint, snapshot: Snapshot) -> Iterator[Finding]:
    """The projection `fc` reads all taps side by side; embedding and head are the target's own."""
    mine, theirs = drafter.model.hidden_size, target.model.hidden_size
    facts = (_of("hidden_size", theirs, target), _of("hidden_size", mine, drafter))
    if drafter.drafter.kind is DrafterKind.MODEL:
        return
    if theirs is None:
        yield Finding(Level.UNKNOWN, "hidden-size", "the target's hidden size is unknown", facts)
        return
    stated = drafter.drafter.target_hidden_size
    names = {group.name: group for group in snapshot.tensors}
    own_embedding = any("embed_tokens" in name for name in names)
    fc = next((group for name, group in names.items() if name.split(".")[-2:] == ["fc", "weight"]), None)
    taps = len(drafter.drafter.taps) or (3 if drafter.drafter.kind is DrafterKind.EAGLE3 else 0)
    if fc is not None and taps and len(fc.shape) == 2:
        wanted = taps * theirs
        seen = (*facts, Fact("fc_inputs", fc.shape[1], f"{drafter.reference}: {fc.name}"))
        if fc.shape[1] == wanted:
            message = f"fc reads {taps} taps x {theirs} = {wanted} inputs"
            yield Finding(Level.OK, "tap-width", message, seen)
        else:
            message = f"fc has {fc.shape[1]} inputs, {taps} taps of this target make {wanted}"
            yield Finding(Level.BLOCKER, "tap-width", message, seen, "use the drafter made for this target")
    if stated is not None and stated != theirs:
        message = f"the drafter was made for a hidden size of {stated}, the target has {theirs}"
        yield Finding(Level.BLOCKER, "hidden-size", message, facts, "use the drafter made for this target")
    elif mine != theirs and not own_embedding:
        message = f"the drafter is {mine} wide and borrows the embedding of a target that is {theirs} wide"
        yield Finding(Level.BLOCKER, "hidden-size", message, facts, "use the drafter made for this target")
    else:
        yield Finding(Level.OK, "hidden-size", f"hidden size {mine} fits {theirs}", facts)


def _taps(target: Checkpoint, drafter: Drafter) -> Iterator[Finding]:
    if drafter.kind not in BLOCK_KINDS:
        return
    layers = len(target.model.layers)
    shown = ", ".join(map(str, drafter.taps))
    facts = (_of("num_hidden_layers", layers, target), Fact("target_layer_ids", shown, "drafter config.json"))
    if not drafter.taps:
        message = "the drafter names no target layers to read; engines would fall back to their own choice"
        yield Finding(Level.UNKNOWN, "target-layers", message, facts)
        return
    if layers == 0:
        yield Finding(Level.UNKNOWN, "target-layers", "the target's depth is unknown", facts)
        return
    outside = [tap for tap in drafter.taps if not 0 <= tap < layers]
    repeated = len(set(drafter.taps)) != len(drafter.taps)
    if outside == [layers]:
        message = f"layer {layers} is one past the last: the ids seem to count hidden_states, which start at 0"
        remedy = "subtract 1 from every id: id l means the output of block l, hidden_states[l + 1]"
        yield Finding(Level.BLOCKER, "target-layers", message, facts, remedy)
    elif outside or repeated:
        wrong = f"ids {outside} are outside 0 to {layers - 1}" if outside else "ids repeat"
        message = f"target layer {wrong}"
        yield Finding(Level.BLOCKER, "target-layers", message, facts, "use the drafter made for this target")
    else:
        message = f"taps {shown} lie in 0 to {layers - 1} (id l is the output of block l, hidden_states[l + 1])"
        yield Finding(Level.OK, "target-layers", message, facts)


def _depth(target: Checkpoint, drafter: Drafter) -> Iterator[Finding]:
    if drafter.target_layers is None or not target.model.layers:
        return
    layers = len(target.model.layers)
    facts = (
        _of("num_hidden_layers", layers, target),
        Fact("num_target_layers", drafter.target_layers, "drafter config.json"),
    )
    if layers == drafter.target_layers:
        yield Finding(Level.OK, "target-depth", f"made for {layers} layers, as the target has", facts)
    else:
        message = f"made for a target of {drafter.target_layers} layers, this one has {layers}"
        yield Finding(Level.BLOCKER, "target-depth", message, facts, "use the drafter made for this target")


def _vocabulary(target: Checkpoint, drafter: Checkpoint) -> Iterator[Finding]:
    mine, theirs = drafter.model.vocab_size, target.model.vocab_size
    facts = (_of("vocab_size", theirs, target), _of("vocab_size", mine, drafter))
    if mine is None or theirs is None:
        yield Finding(Level.UNKNOWN, "vocabulary", "a vocabulary size is unknown", facts)
    elif mine != theirs:
        message = f"the drafter has {mine} tokens, the target {theirs}"
        yield Finding(Level.BLOCKER, "vocabulary", message, facts, "use a drafter of the same tokenizer")
    else:
        yield Finding(Level.OK, "vocabulary", f"both have {mine} tokens", facts)
    same = same_files(target.tokenizer, drafter.tokenizer)
    if same is True:
        yield Finding(Level.OK, "tokenizer", "tokenizer files are the same, byte for byte")
    elif same is False:
        message = "tokenizer files differ: the same id may be another token"
        remedy = "compare both vocabularies, or use the drafter made for this target"
        yield Finding(Level.WARNING, "tokenizer", message, remedy=remedy)
    elif drafter.drafter.kind in BLOCK_KINDS:
        message = "the drafter brings no tokenizer to compare; it works with the target's"
        yield Finding(Level.NOTE, "tokenizer", message)
    else:
        yield Finding(Level.UNKNOWN, "tokenizer", "tokenizer files could not be compared")


def _mask(target: Checkpoint, drafter: Checkpoint) -> Iterator[Finding]:
    if drafter.drafter.kind not in BLOCK_KINDS:
        return
    mask, vocab = drafter.drafter.mask_token_id, target.model.vocab_size
    facts = (Fact("mask_token_id", mask, "drafter config.json"), _of("vocab_size", vocab, target))
    if mask is None:
        yield Finding(Level.UNKNOWN, "mask-token", "the drafter names no mask token", facts)
        return
    if vocab is not None and mask >= vocab:
        message = f"mask token {mask} has no row in an embedding of {vocab}"
        yield Finding(Level.BLOCKER, "mask-token", message, facts)
        return
    used = next((token for token in target.tokenizer.taken if token.id == mask), None)
    if used is not None and "mask" not in used.content.lower() and "reserved" not in used.content.lower():
        message = f"mask token {mask} is in use as {used.content!r}"
        evidence = (*facts, Fact("token", used.content, f"{target.reference}: tokenizer_config.json"))
        yield Finding(Level.WARNING, "mask-token", message, evidence, "check that prompts never contain it")
    elif not target.tokenizer.complete:
        message = f"mask token {mask} is within the vocabulary; whether it is in use is not known"
        yield Finding(Level.NOTE, "mask-token", message, facts)
    else:
        yield Finding(Level.OK, "mask-token", f"mask token {mask} is valid and free", facts)


def _context(target: Checkpoint, drafter: Checkpoint) -> Iterator[Finding]:
    mine, theirs = drafter.model.context, target.model.context
    if mine is None or theirs is None:
        return
    facts = (_of("max_position_embeddings", theirs, target), _of("max_position_embeddings", mine, drafter))
    ropes = [
        _of("rope", f"theta {rope.theta}, {rope.kind or 'default'} x{rope.factor or 1}", side)
        for side in (target, drafter)
        if (rope := side.model.rope) is not None
    ]
    if mine < theirs:
        message = f"the drafter reaches {mine} tokens, the target {theirs}: behind that it drafts poorly"
        yield Finding(Level.WARNING, "context", message, (*facts, *ropes), f"limit the context to {mine}")
    else:
        yield Finding(Level.OK, "context", f"the drafter reaches {mine} tokens", (*facts, *ropes))


def _block(drafter: Drafter) -> Iterator[Finding]:
    if drafter.kind not in BLOCK_KINDS:
        return
    size = drafter.block_size
    facts = tuple(fact for fact in drafter.facts if fact.name == "block_size")
    if size is None:
        yield Finding(Level.UNKNOWN, "block-size", "the drafter names no block size, top-level or nested")
    elif not 2 <= size <= 256:
        yield Finding(Level.BLOCKER, "block-size", f"a block of {size} drafts nothing or too much", facts)
    else:
        yield Finding(Level.OK, "block-size", f"blocks of {size}: up to {size - 1} drafted tokens", facts)


def _dtype(target: Checkpoint, drafter: Checkpoint) -> Iterator[Finding]:
    mine, theirs = drafter.model.dtype, target.model.dtype
    if mine and theirs and mine != theirs:
        facts = (_of("dtype", theirs, target), _of("dtype", mine, drafter))
        message = f"the drafter computes in {mine}, the target in {theirs}"
        yield Finding(Level.WARNING, "dtype", message, facts, f"load the drafter in {theirs}")


def _divides(checkpoint: Checkpoint, size: int) -> bool:
    """Query heads split evenly, key-value heads split evenly or are copied evenly; MLA has none to split."""
    for layer in checkpoint.model.layers:
        if layer.heads is not None and layer.heads % size:
            return False
        groups = layer.kv_heads
        if groups is not None and layer.mixer != "MLA" and groups % size and size % groups:
            return False
    return True
