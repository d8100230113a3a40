"""`surefoot generate`: one streamed answer of the embedded engine."""

from __future__ import annotations

import time

import click

from surefoot.cli.options import decoding_options, load_pair


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
    tokens: list[int] = []
    shown, committed, rounds, start = "", 0, 0, time.perf_counter()
    for done in decoder.generate(ids, Sampling(max_tokens, temperature, seed, pair.stop)):
        tokens += done.tokens
        if done.prefill:
            start = time.perf_counter()
        else:
            rounds, committed = rounds + 1, committed + done.accepted + 1
        answer = pair.tokenizer.decode(tokens)
        # a character of several bytes may not be whole yet
        ready = answer.rstrip("\ufffd")
        click.echo(ready[len(shown) :], nl=False)
        shown = ready
    took = time.perf_counter() - start
    click.echo(pair.tokenizer.decode(tokens)[len(shown) :])
    if rounds:
        click.echo(
            f"[{chosen}: {len(tokens)} tokens, {(len(tokens) - 1) / took:.1f} tokens/s, tau {committed / rounds:.2f}]",
            err=True,
        )
