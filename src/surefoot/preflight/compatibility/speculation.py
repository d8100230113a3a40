"""Whether this engine version has the strategy, takes this drafter, and stays exact on this target."""

from __future__ import annotations

from collections.abc import Iterator

from surefoot.checkpoints.drafter import BLOCK_KINDS, DrafterKind
from surefoot.checkpoints.exactness import ExactnessClass
from surefoot.engines import judge_limits
from surefoot.evidence import Fact, Finding, Level, Method
from surefoot.preflight.case import Case
from surefoot.preflight.compatibility.attention import AttentionChoice, situation
from surefoot.preflight.options import DEFAULT_BLOCK
from surefoot.units import both

ALGORITHMS = {
    "sglang": {DrafterKind.DFLASH: "DFLASH", DrafterKind.DFLASH2: "DFLASH", DrafterKind.DSPARK: "DSPARK"},
    "vllm": {DrafterKind.DFLASH: "dflash", DrafterKind.DFLASH2: "dflash", DrafterKind.DSPARK: "dspark"},
}
"""How engines call the algorithm that runs a kind of drafter."""
TREE_NAMES = ("DDTREE", "ddtree")
TREE_LEAK = "draft-tree-verified-as-chain-on-recurrent-layers"
"""The known limit that says so for versions it was read in."""


def judge_speculation(case: Case, choice: AttentionChoice) -> Iterator[Finding]:
    """Everything about the strategy: drafter, algorithm, known limits, exactness."""
    limits: tuple[Finding, ...] = ()
    if case.engine.kind == "sglang" and case.gpus:
        limits = judge_limits("sglang", case.engine.version, situation(case, choice.backend))
        yield from limits
    if not case.speculation.drafts:
        return
    drafter = case.drafter
    if drafter is None:
        message = f"{case.speculation} needs a drafter"
        yield Finding(Level.BLOCKER, "no-drafter", message, remedy="name one with --draft")
        return
    if drafter.drafter.kind not in BLOCK_KINDS:
        message = f"{drafter.reference} is a drafter of kind {drafter.drafter.kind}: it drafts no blocks"
        yield Finding(Level.BLOCKER, "drafter-kind", message, remedy="a DFlash drafter trained for this target")
        return
    yield from _algorithm(case)
    yield from _drafter_class(case)
    yield from _block(case)
    if TREE_LEAK not in {finding.code for finding in limits}:
        yield from _leak(case)
    yield from _price(case)


def algorithm(case: Case) -> str | None:
    """The engine's name for the algorithm of this strategy, None when it has none."""
    known = case.engine.speculative_algorithms or ()
    if case.speculation.budget is not None:
        plugins = {plugin.name.upper() for plugin in case.engine.plugins}
        found = next((name for name in TREE_NAMES if name in known), None)
        return found or ("DDTREE" if any("DDTREE" in name for name in plugins) else None)
    kind = case.drafter.drafter.kind if case.drafter else DrafterKind.DFLASH
    name = ALGORITHMS.get(case.engine.kind, {}).get(kind)
    return name if name in known else None


def _algorithm(case: Case) -> Iterator[Finding]:
    if case.engine.kind == "surefoot":
        yield Finding(Level.OK, "algorithm", f"the embedded engine runs {case.speculation}")
        return
    if case.engine.speculative_algorithms is None:
        yield Finding(Level.UNKNOWN, "algorithm", f"which algorithms {case.engine.package} has is unknown")
        return
    fact = Fact("algorithms", ", ".join(case.engine.speculative_algorithms), case.engine_seen)
    found = algorithm(case)
    if found is not None:
        yield Finding(Level.OK, "algorithm", f"{case.engine.package} has {found}", (fact,))
        return
    if case.speculation.budget is None:
        message = (
            f"{case.engine.package} has no algorithm for a {case.drafter.drafter.kind if case.drafter else ''} drafter"
        )
        yield Finding(Level.BLOCKER, "algorithm-missing", message, (fact,), "a newer version of the engine")
    elif case.engine.out_of_tree_algorithms:
        message = f"{case.engine.package} has no draft trees; a plugin can register them, none is installed"
        yield Finding(Level.BLOCKER, "no-draft-tree", message, (fact,), "dflash, or --engine surefoot")
    elif case.engine.kind != "sglang":
        message = f"{case.engine.package} has no draft trees for block drafters"
        yield Finding(Level.BLOCKER, "no-draft-tree", message, (fact,), "dflash, or --engine surefoot")


def _drafter_class(case: Case) -> Iterator[Finding]:
    drafter = case.drafter
    if drafter is None or case.engine.architectures is None:
        return
    names = drafter.model.classes
    if not names:
        yield Finding(Level.UNKNOWN, "drafter-class", "the drafter's config names no class")
        return
    known = next((entry for name in names if (entry := case.engine.architecture(name))), None)
    if known is None:
        message = f"{case.engine.package} has no {', '.join(names)}"
        yield Finding(Level.BLOCKER, "drafter-class-missing", message, remedy="a newer version of the engine")
    else:
        fact = Fact(known.name, known.module, case.engine_seen)
        yield Finding(Level.OK, "drafter-class", f"{known.name} is in {case.engine.package}", (fact,))


def _block(case: Case) -> Iterator[Finding]:
    drafter = case.drafter
    if drafter is not None and drafter.drafter.block_size is None and drafter.model.classes:
        message = f"the drafter's config names no block size: engines take {DEFAULT_BLOCK} without a word"
        yield Finding(Level.WARNING, "block-size-unstated", message, remedy="set the block size it was trained with")


def _leak(case: Case) -> Iterator[Finding]:
    """A tree on recurrent layers needs an engine that keeps state for each node."""
    exact = case.target.exactness
    if case.speculation.budget is None or exact.kind is ExactnessClass.ANY_BUDGET:
        return
    if exact.kind is ExactnessClass.UNKNOWN:
        yield exact.finding
        return
    name, facts = case.engine.package, exact.finding.evidence
    if case.engine.kind == "sglang":
        message = f"{name} keeps no recurrent state for tree nodes under DFLASH: branches would leak into each other"
        yield Finding(Level.BLOCKER, "tree-leaks-state", message, facts, "dflash: a chain is verified exactly")
    else:
        message = f"whether {name} keeps recurrent state for each tree node was not read"
        yield Finding(Level.UNKNOWN, "tree-leaks-state", message, facts, "dflash")


def _price(case: Case) -> Iterator[Finding]:
    """What a verification costs on recurrent layers: one state for each position."""
    exact, width = case.target.exactness, case.speculation.width
    if exact.kind is not ExactnessClass.STATE_PER_NODE or exact.state_bytes is None:
        return
    price = exact.state_bytes * width
    fact = Fact("state of all nodes of one request", price, f"{width} nodes x {exact.state_bytes} B", Method.COMPUTED)
    message = f"recurrent state costs {both(exact.state_bytes)} a node: {both(price)} for one request's {width} nodes"
    yield Finding(Level.NOTE, "state-per-node-price", message, (*exact.finding.evidence, fact))
