"""The embedded pair, loaded once, and prompts of several kinds."""

from __future__ import annotations

import pytest

from surefoot.decoding.embedded import load_embedded
from surefoot.decoding.pair import Pair

QUESTIONS = (
    "Write a Python function that returns the n-th Fibonacci number.",
    "Write a function that checks whether a string is a palindrome.",
    "Sort this list in descending order in Python: [3, 1, 2].",
    "What does the keyword `yield` do in Python?",
    "Write an SQL query that counts the users of each country.",
    "Write a for loop in JavaScript that prints 1 to 10.",
    "What is 12 times 12?",
    "A train travels 60 km in 45 minutes. What is its speed?",
    "List the first five prime numbers.",
    "What is the area of a circle of radius 3?",
    "Give me three tips for sleeping better.",
    "Why is the sky blue?",
    "Name the planets of the solar system.",
    "Write two sentences about autumn.",
    "How do I boil an egg?",
    "Translate 'good morning' into French.",
    "Summarize: The cat sat on the mat. The dog barked. The cat ran away.",
    "Summarize in one sentence: Bees visit flowers for nectar and carry pollen between them.",
    "What is a good name for a bakery?",
    "Explain gravity to a child.",
)


@pytest.fixture(scope="session")
def pair() -> Pair:
    return load_embedded()


@pytest.fixture(scope="session")
def prompts(pair: Pair) -> list[list[int]]:
    return [pair.tokenizer.encode_chat(question) for question in QUESTIONS]
