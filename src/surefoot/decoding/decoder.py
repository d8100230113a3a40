"""The generation loop: draft, build the tree, verify it in one target forward, commit what was accepted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from surefoot.decoding.pair import Pair
from surefoot.decoding.rounds import Round, Sampling, Seconds
from surefoot.decoding.sampling import Sampler
from surefoot.decoding.strategy import Strategy
from surefoot.decoding.tree import DraftTree, best_first_tree, chain
from surefoot.decoding.verification import Walk, causal_mask, tree_mask, walk
from surefoot.errors import UsageError

PREFILL_ROWS = 512
NO_TREE = DraftTree((), (), (), ())


class Decoder:
    """Decodes one request at a time with one strategy. `capacity` bounds prompt and answer together, in tokens."""

    def __init__(self, pair: Pair, strategy: Strategy, *, capacity: int) -> None:
        self.target, self.drafter, self.strategy = pair.target, pair.drafter, strategy
        drafted = {"plain": 0, "dflash": self.drafter.depth}.get(strategy.kind, strategy.budget or 0)
        self.width = drafted + 1
        self.capacity = capacity
        if capacity > pair.context_length:
            raise UsageError(
                f"{capacity} tokens are more than the target's context of {pair.context_length}",
                remedy="shorten the prompt or lower --max-tokens",
            )
        self.cache = self.target.new_cache(capacity + max(self.width, self.drafter.block_size))
        self.context = self.drafter.new_cache(capacity)
        self.taps = self.drafter.target_layer_ids if drafted else ()
        self.target.pack(self.width)

    @torch.inference_mode()
    def generate(self, prompt: Sequence[int], sampling: Sampling) -> Iterator[Round]:
        """Continue `prompt`, one `Round` per target forward, the prefill first.

        Raises:
            UsageError: the prompt is empty, or does not fit into the capacity with `max_tokens`.
        """
        if not prompt:
            raise UsageError("the prompt is empty", remedy="give at least one token of text")
        if len(prompt) + sampling.max_tokens > self.capacity:
            raise UsageError(
                f"a prompt of {len(prompt)} tokens and {sampling.max_tokens} new ones are more than {self.capacity}",
                remedy="shorten the prompt or lower --max-tokens",
            )
        sampler, answered = Sampler(sampling), 0
        start = time.perf_counter()
        logits = self._prefill(prompt)
        tokens: tuple[int, ...] = (sampler.choose(logits[-1], 0),)
        first = Round(tokens, seconds=Seconds(verify=time.perf_counter() - start), prefill=True)
        for done in self._rounds(first, sampler):
            kept, ended = _cut(done.tokens, sampling.max_tokens - answered, sampling.stop)
            answered += len(kept)
            yield Round(kept, done.accepted, done.drafted, done.depth, done.seconds, done.prefill)
            if ended:
                return

    def _rounds(self, first: Round, sampler: Sampler) -> Iterator[Round]:
        """Rounds without an end; the caller cuts."""
        yield first
        anchor, answered = first.tokens[-1], 1
        while True:
            t0 = time.perf_counter()
            candidates = self._draft(anchor)
            t1 = time.perf_counter()
            tree, drafted = self._tree(candidates)
            t2 = time.perf_counter()
            walked, taps = self._verify(anchor, tree, drafted, sampler, answered)
            t3 = time.perf_counter()
            self._commit(walked, taps)
            t4 = time.perf_counter()
            yield Round(
                walked.tokens,
                len(walked.tokens) - 1,
                len(tree),
                max(tree.depths, default=0),
                Seconds(t1 - t0, t2 - t1, t3 - t2, t4 - t3),
            )
            anchor, answered = walked.tokens[-1], answered + len(walked.tokens)

    def _prefill(self, prompt: Sequence[int]) -> Tensor:
        """Fill the caches with `prompt`; logits of its last token, [1, vocab]."""
        self.cache.length = self.context.length = 0
        tokens = torch.tensor(prompt, device=self.target.device)
        for rows in tokens.split(PREFILL_ROWS):
            past = self.cache.length
            positions = self._positions(past, len(rows))
            mask = causal_mask(len(rows), past, self.target.device, self.target.dtype)
            out = self.target.forward(rows, positions, self.cache, mask, tap_layers=self.taps, last_only=True)
            self.cache.length += len(rows)
            if out.taps is not None:
                self._extend(out.taps)
        return out.logits

    def _draft(self, anchor: int) -> tuple[list[list[float]], Tensor] | None:
        """Log-probabilities [depth, k] from the likeliest down, and their token ids, or None when decoding plain."""
        if self.strategy.kind == "plain":
            return None
        positions = self._positions(self.context.length, self.drafter.block_size)
        logits = self.drafter.draft(torch.tensor([anchor], device=self.target.device), positions, self.context)
        k = min(self.strategy.budget or 1, logits.shape[-1])
        best = torch.topk(logits, k, -1)
        log_probs = best.values.double() - torch.logsumexp(logits.double(), -1, keepdim=True)
        return log_probs.tolist(), self.drafter.target_ids(best.indices)

    def _tree(self, candidates: tuple[list[list[float]], Tensor] | None) -> tuple[DraftTree, list[int]]:
        """The tree to verify and its nodes' tokens."""
        if candidates is None:
            return NO_TREE, []
        log_probs, ids = candidates
        tree = chain(log_probs) if self.strategy.kind == "dflash" else best_first_tree(log_probs, self.width - 1)
        table = ids.tolist()
        return tree, [table[depth - 1][rank] for depth, rank in zip(tree.depths, tree.ranks, strict=True)]

    def _verify(
        self, anchor: int, tree: DraftTree, drafted: list[int], sampler: Sampler, answered: int
    ) -> tuple[Walk, Tensor | None]:
        """One target forward over the tree, and the walk its choices take."""
        padding = self.width - 1 - len(tree)
        device, past = self.target.device, self.cache.length
        tokens = torch.tensor([anchor, *drafted, *[anchor] * padding], device=device)
        positions = torch.tensor([past, *(past + depth for depth in tree.depths), *[past] * padding], device=device)
        mask = tree_mask(tree, self.width, past, device, self.target.dtype) if self.width > 1 else None
        out = self.target.forward(tokens, positions, self.cache, mask, tap_layers=self.taps)
        if sampler.temperature == 0:
            argmax = out.logits.argmax(-1).tolist()
            return walk(tree, drafted, lambda row, _: int(argmax[row])), out.taps
        return walk(tree, drafted, lambda row, depth: sampler.choose(out.logits[row], answered + depth)), out.taps

    def _commit(self, walked: Walk, taps: Tensor | None) -> None:
        """Keep the accepted rows in both caches."""
        self.cache.commit(list(walked.rows))
        if taps is not None:
            self._extend(taps[list(walked.rows)])

    def _extend(self, taps: Tensor) -> None:
        """Append the context of committed tokens, whose hidden states are `taps`."""
        self.drafter.extend(taps, self._positions(self.context.length, len(taps)), self.context)
        self.context.length += len(taps)

    def _positions(self, start: int, count: int) -> Tensor:
        return torch.arange(start, start + count, device=self.target.device)

    @torch.inference_mode()
    def top_gap(self, tokens: Sequence[int]) -> float:
        """The target's top-1 minus top-2 logit behind `tokens`: how near a tie its greedy choice is there."""
        best = self._prefill(tokens)[-1].topk(2).values
        return float(best[0] - best[1])


def _cut(tokens: Sequence[int], room: int, stop: Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """`tokens` up to the first stop token (kept) and to `room` tokens, and whether the answer ends there."""
    for i, token in enumerate(tokens[:room]):
        if token in stop:
            return tuple(tokens[: i + 1]), True
    return tuple(tokens[:room]), len(tokens) >= room
