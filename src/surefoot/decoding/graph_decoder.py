"""Decoding with static shapes: every round is four CUDA graphs, and the host only reads the committed tokens.

The prefill and the meaning of a round are the plain `Decoder`'s, which is the oracle of this one. On a CPU the
same steps run without graphs, for the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch

from surefoot.decoding.decoder import Decoder
from surefoot.decoding.device_tree import build_tree, empty_tree
from surefoot.decoding.device_verification import accepted_path, ancestor_rows, choose, slot_mask
from surefoot.decoding.kv_cache import SlottedRows
from surefoot.decoding.pair import Pair
from surefoot.decoding.rounds import Round, Seconds
from surefoot.decoding.sampling import Sampler
from surefoot.decoding.strategy import Strategy


class GraphDecoder(Decoder):
    """A `Decoder` whose rounds are captured once per temperature and replayed."""

    def __init__(self, pair: Pair, strategy: Strategy, *, capacity: int) -> None:
        super().__init__(pair, strategy, capacity=capacity)
        device = self.target.device
        plain = strategy.kind == "plain"
        self.depth = 0 if plain else self.drafter.depth
        self.tree = empty_tree(self.width, device)
        self.visible = torch.eye(self.width, dtype=torch.bool, device=device)
        if strategy.kind == "dflash":
            self._fill_chain()
        self.length = torch.zeros(1, dtype=torch.long, device=device)
        self.answered = torch.zeros(1, dtype=torch.long, device=device)
        self.tokens = torch.zeros(self.width, dtype=torch.long, device=device)
        self.uniform = torch.zeros(self.capacity + 1025, dtype=torch.float64, device=device)
        self.slots = torch.arange(self.width, device=device)
        self.result = torch.zeros(self.depth + 3, dtype=torch.long, device=device)
        self._pinned = torch.zeros(self.depth + 3, dtype=torch.long, pin_memory=device.type == "cuda")
        self._steps: dict[float, list[Callable[[], None]]] = {}

    def _rounds(self, first: Round, sampler: Sampler) -> Iterator[Round]:
        yield first
        self.length.fill_(self.cache.length)
        self.answered.fill_(1)
        self.tokens[0] = first.tokens[-1]
        self.uniform[: len(sampler.uniform)] = sampler.uniform.to(self.uniform.device)
        steps = self._captured(sampler.temperature)
        clock = _Clock(self.target.device)
        while True:
            clock.start()
            for step in steps:
                step()
                clock.lap()
            self._pinned.copy_(self.result, non_blocking=True)
            seconds = clock.stop()
            count, drafted, *tokens = self._pinned.tolist()
            self.cache.length = self.context.length = self.cache.length + count
            deepest = self.depth if drafted else 0
            yield Round(tuple(tokens[:count]), count - 1, drafted, deepest, seconds)

    def _captured(self, temperature: float) -> list[Callable[[], None]]:
        """The steps of a round at `temperature`, as CUDA graphs where there is a GPU."""
        if temperature not in self._steps:
            steps = [self._draft_step, self._tree_step, lambda: self._verify_step(temperature), self._commit_step]
            capture = _capture if self.target.device.type == "cuda" else _as_it_is
            saved = [state.clone() for state in self._state()]
            self._steps[temperature] = capture(steps)
            for state, value in zip(self._state(), saved, strict=True):
                state.copy_(value)
        return self._steps[temperature]

    def _state(self) -> Sequence[torch.Tensor]:
        return self.length, self.answered, self.tokens, self.cache.rows, self.context.rows

    def _draft_step(self) -> None:
        if self.strategy.kind == "plain":
            return
        block = torch.arange(self.drafter.block_size, device=self.length.device) + self.length
        everyone = torch.ones(len(block), len(block), dtype=torch.bool, device=block.device)
        mask = slot_mask(everyone, self.length, self.context.capacity, self.target.dtype)
        logits = self.drafter.draft(self.tokens[:1], block, SlottedRows(self.context, block), mask)
        k = min(self.strategy.budget or 1, logits.shape[-1])
        best = torch.topk(logits, k, -1)
        self.log_probs = best.values.double() - torch.logsumexp(logits.double(), -1, keepdim=True)
        self.candidates = self.drafter.target_ids(best.indices)

    def _tree_step(self) -> None:
        if self.strategy.kind == "plain":
            return
        if self.strategy.kind == "ddtree":
            build_tree(self.log_probs, self.tree)
            self.visible = ancestor_rows(self.tree.parents, self.depth)
        drafted = self.candidates[self.tree.depths[1:].long() - 1, self.tree.ranks[1:].long()]
        self.tokens[1:] = drafted

    def _verify_step(self, temperature: float) -> None:
        depths = self.tree.depths.long()
        slots = self.slots + self.length
        mask = slot_mask(self.visible, self.length, self.cache.capacity, self.target.dtype)
        rows = SlottedRows(self.cache, slots)
        out = self.target.forward(self.tokens, depths + self.length, rows, mask, tap_layers=self.taps)
        self.chosen = choose(out.logits, temperature, self.uniform[self.answered + depths])
        self.features = out.taps

    def _commit_step(self) -> None:
        tree = self.tree
        real = self.slots <= tree.count
        path, committed, count = accepted_path(
            self.tokens, tree.parents, tree.depths, real, self.visible, self.chosen, self.depth
        )
        steps = torch.arange(self.depth + 1, device=path.device)
        if self.features is not None:
            # rows past the accepted ones move onto themselves
            source = torch.where(steps < count, path, steps) + self.length
            kept = self.cache.rows.index_select(3, source)
            self.cache.rows.index_copy_(3, steps + self.length, kept)
            slots = steps + self.length
            self.drafter.extend(self.features[path], slots, SlottedRows(self.context, slots))
        self.tokens[:1] = committed[count - 1]
        self.length += count
        self.answered += count
        self.result[:1] = count
        self.result[1:2] = tree.count
        self.result[2:] = committed

    def _fill_chain(self) -> None:
        rows = torch.arange(self.width, dtype=torch.int32, device=self.target.device)
        self.tree.parents.copy_((rows - 1).clamp(min=0))
        self.tree.depths.copy_(rows)
        self.tree.count.fill_(self.width - 1)
        self.visible = ancestor_rows(self.tree.parents, self.depth)


def _as_it_is(steps: list[Callable[[], None]]) -> list[Callable[[], None]]:
    return steps


def _capture(steps: list[Callable[[], None]]) -> list[Callable[[], None]]:
    """Each step as a CUDA graph; all share one memory pool, as they always run in this order."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            for step in steps:
                step()
    torch.cuda.current_stream().wait_stream(stream)
    pool = torch.cuda.graph_pool_handle()
    graphs = []
    for step in steps:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            step()
        graphs.append(graph.replay)
    return graphs


class _Clock:
    """Device time of the four parts of a round."""

    def __init__(self, device: torch.device) -> None:
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(5)] if device.type == "cuda" else []
        self.at = 0

    def start(self) -> None:
        self.at = 0
        self.lap()

    def lap(self) -> None:
        if self.events:
            self.events[self.at].record()
            self.at += 1

    def stop(self) -> Seconds:
        if not self.events:
            return Seconds()
        torch.cuda.synchronize()
        return Seconds(*(a.elapsed_time(b) / 1e3 for a, b in zip(self.events, self.events[1:], strict=False)))
