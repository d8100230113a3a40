"""What is asked for (workload, strategy) and how the engine is launched (options)."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.errors import UsageError

DEFAULT_BLOCK = 16
"""The block size SGLang takes for a drafter whose config does not tell one."""


@dataclass(frozen=True)
class Workload:
    """Tokens of the longest request (prompt and answer) and how many run at once."""

    context: int = 8192
    concurrency: int = 1

    def __post_init__(self) -> None:
        if self.context < 1 or self.concurrency < 1:
            raise UsageError("context and concurrency must be at least 1")

    @property
    def tokens(self) -> int:
        """Tokens that the KV cache must hold at once."""
        return self.context * self.concurrency


@dataclass(frozen=True)
class Speculation:
    """A strategy with the drafter's block size. `width` is how many positions one verification scores."""

    kind: str
    budget: int | None = None
    block: int = DEFAULT_BLOCK

    @property
    def width(self) -> int:
        """1 for plain, the block for dflash, the nodes and their root for a tree."""
        if self.kind == "plain":
            return 1
        return self.block if self.budget is None else self.budget + 1

    @property
    def drafts(self) -> bool:
        """Whether a drafter runs."""
        return self.kind != "plain"

    def __str__(self) -> str:
        return self.kind if self.budget is None else f"{self.kind}:{self.budget}"


@dataclass(frozen=True)
class Options:
    """Launch options; None leaves the choice to the plan, as does a `tensor_parallel` of 0.

    `data_parallel` splits attention into groups (DP attention).

    `graph_batch` is the largest batch captured in CUDA graphs, `memory_fraction` the engine's static share.
    """

    tensor_parallel: int = 0
    pipeline_parallel: int = 1
    data_parallel: int = 1
    expert_parallel: int = 1
    attention_backend: str | None = None
    draft_attention_backend: str | None = None
    kv_cache_dtype: str = "auto"
    context: int | None = None
    chunked_prefill: int | None = None
    graph_batch: int | None = None
    max_running: int | None = None
    memory_fraction: float | None = None

    @property
    def attention_parallel(self) -> int:
        """GPUs that share the heads of one request."""
        return max(1, self.tensor_parallel // self.data_parallel)

    @property
    def gpus(self) -> int:
        """GPUs that the launch takes."""
        return max(1, self.tensor_parallel) * self.pipeline_parallel
