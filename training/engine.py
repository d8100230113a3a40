"""Batched decoding with continuous refill: a static KV cache, one captured step, prompts swapped in as slots free."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from target import HEAD_DIM, HEADS, KV_HEADS, Target
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

LOOP_TAIL, LOOP_PERIOD = 48, 64

if triton is not None:

    @triton.jit
    def _decode_kernel(
        q,
        k,
        v,
        lengths,
        out,
        room,
        scale,
        heads: tl.constexpr,
        group: tl.constexpr,
        dim: tl.constexpr,
        tile: tl.constexpr,
        precision: tl.constexpr,
    ):
        slot, kv_head = tl.program_id(0), tl.program_id(1)
        n = tl.load(lengths + slot) + 1
        row, col = tl.arange(0, 16), tl.arange(0, dim)
        place = slot * heads * dim + (kv_head * group + row)[:, None] * dim + col[None, :]
        inside = (row < group)[:, None]
        query = tl.load(q + place, mask=inside, other=0.0)
        base = (slot * (heads // group) + kv_head).to(tl.int64) * room * dim
        top = tl.full([16], -1e30, tl.float32)
        total = tl.zeros([16], tl.float32)
        mixed = tl.zeros([16, dim], tl.float32)
        for first in range(0, n, tile):
            at = first + tl.arange(0, tile)
            keys = tl.load(k + base + at[None, :] * dim + col[:, None], mask=at[None, :] < n, other=0.0)
            score = tl.dot(query, keys, input_precision=precision) * scale
            score = tl.where(at[None, :] < n, score, -1e30)
            higher = tl.maximum(top, tl.max(score, 1))
            p = tl.exp(score - higher[:, None])
            shrink = tl.exp(top - higher)
            total = total * shrink + tl.sum(p, 1)
            values = tl.load(v + base + at[:, None] * dim + col[None, :], mask=at[:, None] < n, other=0.0)
            step = tl.dot(p.to(values.dtype), values, input_precision=precision)
            mixed = mixed * shrink[:, None] + step
            top = higher
        tl.store(out + place, (mixed / total[:, None]).to(out.dtype.element_ty), mask=inside)


def decode_attention(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> Tensor:
    """q [S, 9, 64] over rows 0..length of caches [S, 3, room, 64]."""
    slots, room = q.shape[0], k.shape[2]
    if triton is not None and q.is_cuda:
        q, out = q.contiguous(), torch.empty_like(q)
        precision = "ieee" if q.dtype == torch.float32 else "tf32"
        _decode_kernel[(slots, KV_HEADS)](
            q, k, v, lengths, out, room, HEAD_DIM**-0.5, HEADS, HEADS // KV_HEADS, HEAD_DIM, 64, precision
        )
        return out
    seen = torch.arange(room, device=q.device)[None] <= lengths[:, None]
    rows = q.view(slots, KV_HEADS, HEADS // KV_HEADS, HEAD_DIM)
    return F.scaled_dot_product_attention(rows, k, v, attn_mask=seen[:, None, None]).reshape(q.shape)


def pick(logits: Tensor, noise: Tensor, temperature: Tensor) -> Tensor:
    """Gumbel-max sampling; temperature 0 is greedy."""
    gumbel = -torch.log(-torch.log(noise.clamp(1e-20, 1 - 1e-7)))
    return (logits + temperature[:, None] * gumbel).argmax(-1)


@dataclass
class Request:
    prompt: list[int]
    limit: int
    temperature: float = 0.0
    kind: str = ""
    answer: list[int] = field(default_factory=list)


class Engine:
    def __init__(
        self,
        target: Target,
        slots: int,
        room: int,
        limit: int,
        stops: tuple[int, ...],
        cut_loops: bool,
        fast: bool,
    ) -> None:
        self.target, self.slots, self.room, self.limit, self.cut_loops = target, slots, room, limit, cut_loops
        device = target.device

        def zeros(*shape: int, dtype: torch.dtype = torch.long) -> Tensor:
            return torch.zeros(*shape, dtype=dtype, device=device)

        shape = (slots, KV_HEADS, room, HEAD_DIM)
        self.keys = [zeros(*shape, dtype=target.dtype) for _ in target.layers]
        self.values = [zeros(*shape, dtype=target.dtype) for _ in target.layers]
        self.token, self.length, self.count, self.allowed = (zeros(slots) for _ in range(4))
        self.temperature, self.active = zeros(slots, dtype=torch.float32), zeros(slots, dtype=torch.bool)
        self.written = zeros(slots, limit)
        self.stops, self.each = torch.tensor(stops, device=device), torch.arange(slots, device=device)
        self.requests: list[Request | None] = [None] * slots
        self.before, self.after, self.pick = target.before, target.after, pick
        if fast:
            self.pick = torch.compile(pick, dynamic=False)
        self.graph: torch.cuda.CUDAGraph | None = None
        if device.type == "cuda":
            self._capture()

    def _capture(self) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.no_grad():
            for _ in range(3):
                self._step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            self._step()
        self.graph = graph

    def _step(self) -> None:
        t, at = self.target, self.length
        x, cos, sin = t.embedding[self.token], t.cos[at][:, None], t.sin[at][:, None]
        for w, keys, values in zip(t.layers, self.keys, self.values, strict=True):
            q, k, v = self.before(x, w["norm"], w["qkv"], cos, sin)
            keys[self.each, :, at] = k
            values[self.each, :, at] = v
            mixed = decode_attention(q, keys, values, at).flatten(1)
            x = self.after(x, mixed, w["out"], w["norm2"], w["gate_up"], w["down"])
        logits = t.logits(x)
        chosen = self.pick(logits, torch.rand_like(logits), self.temperature)
        chosen = torch.where(self.active, chosen, self.token)
        place = self.count.clamp(max=self.limit - 1)
        self.written[self.each, place] = torch.where(self.active, chosen, self.written[self.each, place])
        self.count += self.active
        self.length += self.active
        self.token.copy_(chosen)
        ended = torch.isin(chosen, self.stops) | (self.count >= self.allowed) | (self.length >= self.room - 1)
        self.active &= ~ended

    def _looping(self) -> Tensor:
        """Slots whose last tokens repeat with some period."""
        back = torch.arange(LOOP_TAIL + LOOP_PERIOD, device=self.token.device) - LOOP_TAIL - LOOP_PERIOD
        recent = self.written.gather(1, (self.count[:, None] + back).clamp(min=0))
        tail, found = recent[:, LOOP_PERIOD:], torch.zeros_like(self.active)
        for period in range(1, LOOP_PERIOD + 1):
            found |= (tail == recent[:, LOOP_PERIOD - period : -period]).all(1)
        return found & (self.count >= LOOP_TAIL + LOOP_PERIOD)

    def _fill(self, slots: list[int], requests: list[Request]) -> None:
        """Prefill all but the last prompt token; the next step reads that one."""
        device = self.target.device
        order = sorted(range(len(slots)), key=lambda i: len(requests[i].prompt))
        while order:
            width = len(requests[order[-1]].prompt)
            many, order = order[-max(1, 49152 // width) :], order[: -max(1, 49152 // width)]
            rows = torch.zeros(len(many), width, dtype=torch.long)
            for r, i in enumerate(many):
                rows[r, : len(requests[i].prompt)] = torch.tensor(requests[i].prompt)
                self.requests[slots[i]] = requests[i]
            length = torch.tensor([len(requests[i].prompt) - 1 for i in many])
            where = torch.tensor([slots[i] for i in many], device=device)
            self.token[where] = rows[torch.arange(len(many)), length].to(device)
            self.length[where], self.count[where] = length.to(device), 0
            self.allowed[where] = torch.tensor([min(requests[i].limit, self.limit) for i in many], device=device)
            self.temperature[where] = torch.tensor([requests[i].temperature for i in many], device=device)
            self.active[where] = True
            if width > 1:
                self._prefill(rows[:, : width - 1].to(device), where)

    @torch.no_grad()
    def _prefill(self, ids: Tensor, where: Tensor) -> None:
        from target import after_attention, before_attention

        t, n = self.target, ids.shape[1]
        x, cos, sin = t.embedding[ids], t.cos[:n][None, :, None], t.sin[:n][None, :, None]
        for w, keys, values in zip(t.layers, self.keys, self.values, strict=True):
            q, k, v = before_attention(x, w["norm"], w["qkv"], cos, sin)
            q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
            keys[where, :, :n] = k
            values[where, :, :n] = v
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            mixed = mixed.transpose(1, 2).flatten(2)
            x = after_attention(x, mixed, w["out"], w["norm2"], w["gate_up"], w["down"])

    @torch.no_grad()
    def run(
        self,
        draw: Callable[[], Request | None],
        finished: Callable[[Request], None],
        deadline: float = float("inf"),
        stride: int = 16,
    ) -> None:
        """Decode until `draw` runs dry and all slots are done, or the deadline passes."""
        pending: list[Request] = []
        while time.monotonic() < deadline:
            if self.cut_loops:
                self.active &= ~self._looping()
            busy, count = self.active.tolist(), self.count.tolist()
            done = [i for i, r in enumerate(self.requests) if r is not None and not busy[i]]
            if done:
                rows = self.written[torch.tensor(done, device=self.token.device)].tolist()
                for i, row in zip(done, rows, strict=True):
                    request = self.requests[i]
                    assert request is not None
                    request.answer, self.requests[i] = row[: count[i]], None
                    pending.append(request)
            free = [i for i, r in enumerate(self.requests) if r is None]
            drawn: list[Request] = []
            while len(drawn) < len(free) and (request := draw()) is not None:
                drawn.append(request)
            self._fill(free[: len(drawn)], drawn)
            idle = len(drawn) == 0 and all(r is None for r in self.requests)
            if not idle:
                for _ in range(stride):
                    if self.graph is not None:
                        self.graph.replay()
                    else:
                        self._step()
            for request in pending:  # the host works while the device decodes
                finished(request)
            if idle and not pending:
                return
            pending = []
