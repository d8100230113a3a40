"""`surefoot generate`: one streamed answer of the embedded engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from surefoot.cli.options import decoding_options, load_pair

if TYPE_CHECKING:
    from surefoot.decoding.rounds import Round


@click.command()
@click.argument("text")
@click.option("--strategy", default="ddtree:16", show_default=True, help="plain, dflash or ddtree:B.")
@click.option("--max-tokens", type=click.IntRange(1), default=200, show_default=True)
@click.option("--raw", is_flag=True, help="Continue TEXT as it is, without a chat turn around it.")
@decoding_options
def command(
    text: str,
    strategy: str,
    max_tokens: int,
    raw: bool,
    device: str,
    dtype: str,
    threads: int | None,
    temperature: float,
    seed: int,
) -> None:
    """Answer TEXT with the embedded pair, as it is decoded."""
    from surefoot.decoding.rounds import Sampling
    from surefoot.decoding.strategy import parse_strategy
    from surefoot.errors import UsageError

    chosen = parse_strategy(strategy)
    if not text.strip():
        raise UsageError("the text is empty", remedy='surefoot generate "Why is the sky blue?"')
    pair = load_pair(device, dtype, threads)
    from surefoot.decoding.factory import new_decoder

    ids = pair.tokenizer.encode(text) if raw else pair.tokenizer.encode_chat(text)
    decoder = new_decoder(pair, chosen, capacity=len(ids) + max_tokens)
    rounds: list[Round] = []
    stamps: list[float] = []

    def watched() -> Iterator[Round]:
        for done in decoder.generate(ids, Sampling(max_tokens, temperature, seed, pair.stop)):
            rounds.append(done)
            stamps.append(time.perf_counter())
            yield done

    try:
        for piece in stream_text(watched(), pair.tokenizer.decode):
            click.echo(piece, nl=False)
    finally:  # also after Ctrl-C
        click.echo()
        if len(rounds) > 1:
            click.echo(speed_line(str(chosen), rounds, stamps[-1] - stamps[0]), err=True)


def stream_text(rounds: Iterable[Round], decode: Callable[[Sequence[int]], str]) -> Iterator[str]:
    """The text of `rounds` as it becomes certain.

    A character whose UTF-8 bytes are spread over tokens decodes to U+FFFD until the last of them is there, so
    trailing ones are held back until the next round, or the end.
    """
    tokens: list[int] = []
    shown = 0
    for done in rounds:
        tokens += done.tokens
        ready = decode(tokens).rstrip("\ufffd")
        if len(ready) > shown:
            yield ready[shown:]
            shown = len(ready)
    if rest := decode(tokens)[shown:]:
        yield rest


def speed_line(strategy: str, rounds: Sequence[Round], decode_s: float) -> str:
    """Speed and tau of an answer; `decode_s` is the time behind the prefill, which is the first round."""
    tokens, behind = sum(len(done.tokens) for done in rounds), rounds[1:]
    speed = sum(len(done.tokens) for done in behind) / decode_s
    tau = sum(done.accepted + 1 for done in behind) / len(behind)
    return f"[{strategy}: {tokens} tokens, {speed:.1f} tokens/s without prefill, tau {tau:.2f}]"
