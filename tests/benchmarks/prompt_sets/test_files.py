from __future__ import annotations

import json

import pytest

from surefoot.benchmarks.prompt_sets.files import parse_prompts

TURNS = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why is the sky blue?"}]


@pytest.mark.parametrize(
    "record",
    [
        {"messages": TURNS},
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": TURNS}},
        {"conversations": [{"from": "human", "value": "Why is the sky blue?"}, {"from": "gpt", "value": "It is."}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "Why is the sky blue?"}]}]},
        {"question_id": 81, "turns": ["Why is the sky blue?", "And at night?"]},
    ],
)
def test_the_first_question_of_every_known_shape(record: object) -> None:
    for data in (json.dumps(record), json.dumps([record], indent=1)):
        (prompt,) = parse_prompts(data.encode(), "log")
        assert prompt.text == "Why is the sky blue?"
        assert prompt.chat


def test_a_logged_completion_stays_a_completion() -> None:
    (prompt,) = parse_prompts(b'{"body": {"prompt": "def f(x):"}}', "log")
    assert prompt.text == "def f(x):"
    assert not prompt.chat


def test_ids_come_from_the_record_or_its_place() -> None:
    prompts = parse_prompts(b'[{"prompt": "a", "custom_id": "x"}, {"prompt": "b"}]', "log")
    assert [prompt.id for prompt in prompts] == ["x", "entry-2"]


def test_secrets_do_not_reach_a_prompt() -> None:
    (prompt,) = parse_prompts(b'{"prompt": "use hf_abcdefghijklmnopqrstuvwx please"}', "log")
    assert prompt.text == "use [removed] please"
