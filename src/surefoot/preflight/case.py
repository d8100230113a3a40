"""One case to judge: a target, perhaps a drafter, an engine, a machine, a workload."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from surefoot.checkpoints.checkpoint import Checkpoint
from surefoot.checkpoints.drafter import BLOCK_KINDS
from surefoot.checkpoints.inspection import Inspection, inspect
from surefoot.checkpoints.snapshot import Snapshot
from surefoot.engines import Engine
from surefoot.hosts import Host
from surefoot.machines.parts import Gpu
from surefoot.preflight.engine_choice import ChosenEngine
from surefoot.preflight.options import DEFAULT_BLOCK, Options, Speculation, Workload


@dataclass(frozen=True)
class Case:
    """Everything a judgement may look at. `engine_seen` says how the engine's facts were had; `engine_read` is
    false when they are those of another version."""

    target_snapshot: Snapshot
    drafter_snapshot: Snapshot | None
    inspection: Inspection
    host: Host
    engine: Engine
    engine_seen: str
    workload: Workload
    engine_read: bool = True
    options: Options = field(default_factory=Options)
    speculation: Speculation = field(default_factory=lambda: Speculation("plain"))

    @property
    def target(self) -> Checkpoint:
        """The target, understood."""
        return self.inspection.target

    @property
    def drafter(self) -> Checkpoint | None:
        """The drafter, understood."""
        return self.inspection.drafter

    @property
    def sm(self) -> int | None:
        """Compute capability of the weakest GPU as one number, None when unknown."""
        found = [gpu.sm for gpu in self.gpus]
        return min((sm for sm in found if sm is not None), default=None)

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs, none when they are unknown."""
        known = self.host.machine.accelerators
        return known.gpus if known else ()

    @property
    def context(self) -> int:
        """The context length that the server is started with."""
        return self.options.context or self.target.model.context or self.workload.context

    def with_options(self, options: Options) -> Case:
        """The same case under other options."""
        return replace(self, options=options)

    def with_strategy(self, kind: str, budget: int | None) -> Case:
        """The same case under a strategy; the block size is the drafter's own."""
        block = self.drafter.drafter.block_size if self.drafter else None
        return replace(self, speculation=Speculation(kind, budget, block or DEFAULT_BLOCK))


def taps(case: Case) -> int:
    """Hidden states that the target hands to the drafter for each token."""
    drafter = case.drafter
    if drafter is None or not case.speculation.drafts or drafter.drafter.kind not in BLOCK_KINDS:
        return 0
    return len(drafter.drafter.taps)


def make_case(
    target: Snapshot,
    drafter: Snapshot | None,
    host: Host,
    chosen: ChosenEngine,
    workload: Workload,
    options: Options | None = None,
) -> Case:
    """Understand the checkpoints and hold them together with host and engine."""
    inspection = inspect(target, drafter)
    options = options or Options()
    return Case(target, drafter, inspection, host, chosen.engine, chosen.seen, workload, chosen.read, options)
