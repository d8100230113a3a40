from __future__ import annotations

import pytest

from surefoot.benchmarks.prompt_sets.secrets import without_secrets

BODY = "Ab3" * 12


@pytest.mark.parametrize("prefix", ["hf_", "sk-", "sk-proj-", "sk_live_", "ghp_", "github_pat_", "glpat-", "xoxb-"])
def test_tokens_are_cut_out(prefix: str) -> None:
    assert without_secrets(f"key={prefix}{BODY}, then") == "key=[removed], then"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"Authorization: Bearer {BODY}==", "Authorization: Bearer [removed]"),
        ("https://ann:s3cret@host/path", "https://[removed]@host/path"),
        ("AKIA" + "A1" * 8, "[removed]"),
        (f"eyJ{BODY}.{BODY}.{BODY}", "[removed]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest", "[removed]\nrest"),
        ("-----BEGIN PRIVATE KEY-----\nabc, cut off", "[removed]"),
    ],
)
def test_other_secrets_are_cut_out(text: str, left: str) -> None:
    assert without_secrets(text) == left


@pytest.mark.parametrize(
    "text", ["a task-list of skills", "https://host:8000/path@2", "sk-short", "the bearer of news", "hf_hub"]
)
def test_ordinary_text_stays(text: str) -> None:
    assert without_secrets(text) == text
