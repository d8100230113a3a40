"""Train the drafter: packed rows, many anchors a row, one attention pass over all their blocks."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from drafter import Drafter, block_inputs, save
from generate import Corpus
from target import HIDDEN, Target
from torch import Tensor, nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


@dataclass
class Settings:
    seconds: float
    rows: int = 16
    row_tokens: int = 2048
    anchors: int = 512
    rate: float = 2e-3
    gamma: float = 4.0
    warmup: float = 0.02
    checkpoint_every: float = 90.0
    log_every: int = 100


Batch = dict[str, Tensor]


def pack(corpus: Corpus, order: np.ndarray, s: Settings) -> Iterator[Batch]:
    """Rows of whole conversations; anchors are answer tokens whose successor is known."""
    at = 0
    while at < len(order):
        ids = np.zeros((s.rows, s.row_tokens), np.int64)
        doc, position = np.full_like(ids, -1), np.zeros_like(ids)
        allowed = np.zeros((s.rows, s.row_tokens), bool)
        for r in range(s.rows):
            used = 0
            while at < len(order):
                p, a = corpus.prompts[order[at]], corpus.answers[order[at]]
                n = len(p) + len(a)
                if used + n > s.row_tokens:
                    break
                ids[r, used : used + n] = np.concatenate([p, a])
                doc[r, used : used + n], position[r, used : used + n] = at, np.arange(n)
                allowed[r, used + len(p) : used + n - 1] = True
                used, at = used + n, at + 1
        if not allowed.any(1).all():
            return
        keys = np.random.rand(s.rows, s.row_tokens) + allowed
        anchors = np.argpartition(-keys, s.anchors, 1)[:, : s.anchors]
        anchors.sort(1)
        real = np.take_along_axis(allowed, anchors, 1)
        yield {
            k: torch.from_numpy(v)
            for k, v in {"ids": ids, "doc": doc, "position": position, "anchors": anchors, "real": real}.items()
        }


def stream(corpus: Corpus, s: Settings, device: torch.device, seed: int) -> Iterator[Batch]:
    ready: queue.Queue[Batch] = queue.Queue(8)

    def work() -> None:
        rng = np.random.default_rng(seed)
        while True:
            for batch in pack(corpus, rng.permutation(len(corpus.answers)), s):
                ready.put({k: v.pin_memory() if device.type == "cuda" else v for k, v in batch.items()})

    threading.Thread(target=work, daemon=True).start()
    while True:
        yield {k: v.to(device, non_blocking=True) for k, v in ready.get().items()}


def dense(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def flex(q: Tensor, k: Tensor, v: Tensor, mask: Any) -> Tensor:
    return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)


class Masks:
    """Document-causal masks for the target, block masks for the drafter; for flex on CUDA, dense elsewhere."""

    def __init__(self, use_flex: bool) -> None:
        self.use_flex = use_flex
        self.create = torch.compile(create_block_mask, dynamic=False)
        self.attend = flex if use_flex else dense
        self.attend_alone = torch.compile(flex, dynamic=False) if use_flex else dense

    def target(self, doc: Tensor) -> Any:
        rows, n = doc.shape

        def visible(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
            return (doc[b, q] == doc[b, k]) & (k <= q)

        return self._make(visible, rows, n, n, doc.device)

    def drafter(self, doc: Tensor, anchors: Tensor, block: int) -> Any:
        """Context strictly before the anchor, in its own conversation, and the whole own block."""
        rows, n = doc.shape
        anchor = anchors.repeat_interleave(block, 1)
        mine = torch.gather(doc, 1, anchor)

        def visible(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
            context = (doc[b, k.clamp(max=n - 1)] == mine[b, q]) & (k < anchor[b, q])
            return torch.where(k < n, context, (k - n) // block == q // block)

        return self._make(visible, rows, anchor.shape[1], n + anchor.shape[1], doc.device)

    def _make(self, visible: Any, rows: int, queries: int, keys: int, device: torch.device) -> Any:
        if self.use_flex:
            return self.create(visible, rows, None, queries, keys, device=str(device))
        b, q, k = (torch.arange(n, device=device) for n in (rows, queries, keys))
        return visible(b[:, None, None], b, q[None, :, None], k[None, None])[:, None]


def score_chunk(logits: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Weighted cross entropy, its gradient, and whether the argmax is right."""
    z = logits.float()
    norm = torch.logsumexp(z, -1, keepdim=True)
    hot = torch.arange(z.shape[1], device=z.device)[None] == labels[:, None]
    loss = (weights * (norm[:, 0] - torch.where(hot, z, 0.0).sum(-1))).sum()
    gradient = (weights[:, None] * (torch.exp(z - norm) - hot.float())).to(logits.dtype)
    return loss, gradient, z.argmax(-1) == labels


class HeadLoss(torch.autograd.Function):
    """Cross entropy through the frozen head, chunk by chunk; the gradient is made in the forward pass."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, head: Tensor, labels: Tensor, weights: Tensor, score: Any, chunk: int
    ) -> tuple[Tensor, Tensor]:
        total, grads, right = torch.zeros((), device=x.device), [], []
        for a, y, w in zip(x.split(chunk), labels.split(chunk), weights.split(chunk), strict=True):
            loss, gradient, hit = score(a.to(head.dtype) @ head.t(), y, w)
            total = total + loss
            grads.append((gradient @ head).to(x.dtype))
            right.append(hit)
        ctx.save_for_backward(torch.cat(grads))
        hits = torch.cat(right)
        ctx.mark_non_differentiable(hits)
        return total, hits

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> Any:
        return ctx.saved_tensors[0] * grad, None, None, None, None, None


class Trainer:
    def __init__(self, target: Target, drafter: Drafter, s: Settings, fast: bool) -> None:
        self.target, self.drafter, self.s, self.fast = target, drafter, s, fast
        self.masks = Masks(fast)
        self.model = torch.compile(drafter, dynamic=False) if fast else drafter
        self.score = torch.compile(score_chunk, dynamic=False) if fast else score_chunk
        offsets = torch.arange(drafter.block, device=target.device)
        self.offsets, self.weight = offsets, torch.exp(-(offsets[1:] - 1) / s.gamma)

    @torch.no_grad()
    def features(self, batch: Batch) -> Tensor:
        mask = self.masks.target(batch["doc"])
        taps = self.target.hidden(
            batch["ids"], batch["position"], self.drafter.taps, mask, self.masks.attend_alone
        )[1]
        assert taps is not None
        return taps

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Loss, and hits and validity [anchors, block - 1]."""
        d, ids, anchors, doc = self.drafter, batch["ids"], batch["anchors"], batch["doc"]
        features = self.features(batch)
        mask = self.masks.drafter(doc, anchors, d.block)
        block = self.target.embedding[block_inputs(ids, anchors, d.block)]
        places = anchors[:, :, None] + self.offsets
        start = torch.gather(batch["position"], 1, anchors)
        with torch.autocast(ids.device.type, dtype=torch.bfloat16, enabled=self.fast):
            ahead = (start[:, :, None] + self.offsets).flatten(1)
            rows = self.model(features, batch["position"], block, ahead, mask, self.masks.attend)
        rows = rows.unflatten(1, (-1, d.block))[:, :, 1:].reshape(-1, HIDDEN)
        places = places[:, :, 1:].flatten(1)
        inside = places.clamp(max=ids.shape[1] - 1)
        labels = torch.gather(ids, 1, inside)
        own = torch.gather(doc, 1, anchors).repeat_interleave(d.block - 1, 1)
        valid = (torch.gather(doc, 1, inside) == own) & (places < ids.shape[1])
        valid &= batch["real"].repeat_interleave(d.block - 1, 1)
        weights = self.weight.repeat(valid.numel() // (d.block - 1)) * valid.flatten()
        weights = weights / weights.sum()
        loss, hits = HeadLoss.apply(rows, self.target.embedding, labels.flatten(), weights, self.score, 8192)
        return loss, hits.view(-1, d.block - 1), valid.view(-1, d.block - 1)

    @torch.no_grad()
    def whiten(self, batch: Batch) -> None:
        """Scale each tapped channel to unit size and start the output norm small."""
        rows = self.features(batch)[(batch["position"] > 3) & (batch["doc"] >= 0)].float()
        self.drafter.feature_scale.copy_(1 / rows.square().mean(0).sqrt().clamp(min=1e-4))
        self.drafter.norm.weight.copy_(0.15 * self.target.norm.float())

    @torch.no_grad()
    def held_out(self, batch: Batch) -> tuple[float, float]:
        """Loss, and 1 + the mean number of leading hits over random anchors (not a walk)."""
        loss, hits, valid = self.loss(batch)
        lead = (hits & valid).int().cumprod(1).sum(1)[valid[:, 0]].float().mean()
        return loss.item(), 1 + lead.item()

    def optimizers(self) -> list[torch.optim.Optimizer]:
        matrices = [p for p in self.drafter.parameters() if p.dim() == 2]
        gains = [p for p in self.drafter.parameters() if p.dim() == 1]
        rate = self.s.rate
        muon = torch.optim.Muon(matrices, lr=rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw")
        return [muon, torch.optim.AdamW(gains, lr=2 * rate, betas=(0.9, 0.95), weight_decay=0.0)]

    def run(self, corpus: Corpus, held: Corpus, folder: Path, parts: int) -> list[dict[str, float]]:
        s, device = self.s, self.target.device
        test = next(stream(held, s, device, 7))
        batches = stream(corpus, s, device, 1)
        self.whiten(next(batches))
        optimizers, log = self.optimizers(), []
        base = [g["lr"] for o in optimizers for g in o.param_groups]
        loss, _, _ = self.loss(next(batches))  # compile before the clock starts
        loss.backward()
        print(f"first loss {loss.item():.2f}, held-out {self.held_out(test)}", flush=True)
        for o in optimizers:
            o.zero_grad(set_to_none=True)
        start, step, saved = time.monotonic(), 0, time.monotonic()
        while (gone := time.monotonic() - start) < s.seconds:
            f = gone / s.seconds
            factor = f / s.warmup if f < s.warmup else 0.5 * (1 + math.cos(math.pi * (f - s.warmup) / (1 - s.warmup)))
            for group, rate in zip((g for o in optimizers for g in o.param_groups), base, strict=True):
                group["lr"] = rate * max(factor, 0.002)
            loss, _, _ = self.loss(next(batches))
            loss.backward()
            nn.utils.clip_grad_norm_(self.drafter.parameters(), 1.0)
            for o in optimizers:
                o.step()
                o.zero_grad(set_to_none=True)
            step += 1
            if step % s.log_every == 0:
                value, lead = self.held_out(test)
                log.append({"step": step, "seconds": time.monotonic() - start, "loss": loss.item(), "held": value,
                            "lead": lead})  # fmt: skip
                print("  step {step} {seconds:.0f}s loss {loss:.3f} held-out {held:.3f} lead {lead:.3f}".format(**log[-1]),
                      flush=True)  # fmt: skip
                if time.monotonic() - saved > s.checkpoint_every:
                    saved = time.monotonic()
                    save(self.drafter, folder, parts)
        save(self.drafter, folder, parts)
        return log
