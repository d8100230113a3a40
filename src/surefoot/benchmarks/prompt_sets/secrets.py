"""Cuts keys and tokens out of prompts, which may come from a log of real requests."""

from __future__ import annotations

import re

REMOVED = "[removed]"

_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:hf_|sk-|sk_live_|sk_test_|gh[pousr]_|github_pat_|glpat-|xox[abposr]-)[\w-]{16,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"
    r"|(?<=Bearer )[\w.~+/-]{16,}=*"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",
    re.DOTALL,
)
"""Private keys; tokens of Hugging Face, OpenAI, Stripe, GitHub, GitLab, Slack and AWS; JSON web tokens; bearer tokens;
user and password in an address. Prefixes as their makers document them."""


def without_secrets(text: str) -> str:
    """`text` with every key or token in it replaced by `[removed]`."""
    return _SECRET.sub(REMOVED, text)
