from __future__ import annotations

from collections.abc import Sequence

import pytest

from surefoot.cli.generate import speed_line, stream_text
from surefoot.decoding.rounds import Round

TEXT = "Zürich 🦉 ends"
BYTES = list(TEXT.encode())
"""One token a byte: the worst case of characters spread over tokens."""


def decode(tokens: Sequence[int]) -> str:
    return bytes(tokens).decode(errors="replace")


@pytest.mark.parametrize("stride", [1, 2, 3, 5, 50])
def test_a_character_is_shown_when_its_last_byte_is_there(stride: int) -> None:
    rounds = [Round(tuple(BYTES[at : at + stride])) for at in range(0, len(BYTES), stride)]
    pieces = list(stream_text(rounds, decode))
    assert "".join(pieces) == TEXT
    assert not any("\ufffd" in piece for piece in pieces)


def test_the_owl_comes_whole_and_nothing_waits_longer_than_it_must() -> None:
    pieces = list(stream_text([Round((byte,)) for byte in BYTES], decode))
    assert pieces == list(TEXT)


def test_a_character_that_stays_broken_is_shown_at_the_end() -> None:
    assert list(stream_text([Round((65,)), Round((0xF0, 0x9F))], decode)) == ["A", "\ufffd"]


def test_speed_and_tau_leave_the_prefill_out() -> None:
    # behind the prefill: 5 tokens in 0.5 s; rounds accepted 2 and 3, the last one cut at the limit
    rounds = [Round((1,), prefill=True), Round((2, 3, 4), accepted=2), Round((5, 6), accepted=3)]
    assert speed_line("ddtree:4", rounds, 0.5) == "[ddtree:4: 6 tokens, 10.0 tokens/s without prefill, tau 3.50]"
