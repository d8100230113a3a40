"""Access to a repository, from the hub's own answers: public, gated, private, missing or disabled."""

from __future__ import annotations

from huggingface_hub import constants
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from surefoot.checkpoints.config import Json
from surefoot.checkpoints.snapshot import Access, Gate
from surefoot.evidence import Fact, Finding, Level

_LOGIN = "hf auth login, or set HF_TOKEN"


def gate_of(info: Json) -> Gate:
    """The gate that `/api/models/...` describes."""
    if info.get("disabled"):
        return Gate.DISABLED
    if info.get("private"):
        return Gate.PRIVATE
    gated = info.get("gated")
    return Gate.GATED_MANUAL if gated == "manual" else Gate.GATED if gated else Gate.OPEN


def granted(gate: Gate, token: str) -> Access:
    """The files can be read."""
    if gate in (Gate.OPEN, Gate.LOCAL):
        return Access(gate, True, token)
    message = f"access granted ({gate})"
    return Access(gate, True, token, (Finding(Level.OK, "access", message),))


def refused(error: Exception, repository: str, gate: Gate | None, token: str) -> Access:
    """What an error of the client says about access, and the one thing to do about it."""
    response = getattr(error, "response", None)
    status = response.status_code if response is not None else None
    message = (response.headers.get("X-Error-Message") or "") if response is not None else ""
    facts = (
        Fact("http_status", status, f"{constants.ENDPOINT}: {repository}"),
        Fact("token", token, "source of the token"),
    )
    page = f"{constants.ENDPOINT}/{repository}"

    def blocked(gate: Gate, code: str, text: str, remedy: str | None) -> Access:
        return Access(gate, False, token, (Finding(Level.BLOCKER, code, text, facts, remedy),))

    if status == 401 and token != "none" and _token_is_wrong(error, message):
        text = f"the hub rejects the token (from {token})"
        return blocked(gate or Gate.UNKNOWN, "token-invalid", text, f"make a new token: {_LOGIN}")
    if isinstance(error, GatedRepoError):
        shown = gate if gate in (Gate.GATED, Gate.GATED_MANUAL) else Gate.GATED
        return blocked(shown, "access-gated", *_gated(repository, page, shown, token, message))
    if isinstance(error, DisabledRepoError):
        return blocked(Gate.DISABLED, "access-disabled", f"{repository} has been disabled", "use another copy")
    if isinstance(error, RevisionNotFoundError):
        text = f"{repository} has no such revision"
        return blocked(gate or Gate.UNKNOWN, "revision-missing", text, f"pick one from {page}/tree/main")
    if isinstance(error, RepositoryNotFoundError) and token == "none" and status == 401:
        text = f"{repository} is private or does not exist; without a token the hub does not tell which"
        return blocked(Gate.HIDDEN, "access-hidden", text, f"check the name, then {_LOGIN}")
    if isinstance(error, RepositoryNotFoundError) or status == 404:
        text = f"{repository} does not exist, or this token (from {token}) may not see it"
        return blocked(Gate.MISSING, "repository-missing", text, "check the name; ask its owner for access")
    if status == 403:
        text = f"the token (from {token}) may not read {repository}: {message[:200]}"
        remedy = "give the token read access to this repository in its settings"
        return blocked(gate or Gate.PRIVATE, "token-scope", text, remedy)
    reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
    text = f"the hub did not answer for {repository}: {reason}"
    finding = Finding(Level.UNKNOWN, "hub-unreachable", text, facts, "try again; HF_ENDPOINT names the hub")
    return Access(gate or Gate.UNKNOWN, None, token, (finding,))


def _token_is_wrong(error: Exception, message: str) -> bool:
    return "invalid" in message.lower() or type(error) is HfHubHTTPError


def _gated(repository: str, page: str, gate: Gate, token: str, message: str) -> tuple[str, str]:
    """The finding's message and remedy for a gated repository."""
    if token == "none":
        return f"{repository} is gated and there is no token", f"accept the terms at {page}, then {_LOGIN}"
    if "fine-grained" in message:
        text = f"{repository} is gated and the token (from {token}) may not read gated repositories"
        return text, "allow access to public gated repositories in the token's settings"
    if "awaiting" in message or "pending" in message:
        return f"access to {repository} was asked for and not yet given", f"wait for its owner: {page}"
    if gate is Gate.GATED_MANUAL:
        return f"{repository} is gated and its owner has not let you in", f"ask for access at {page}"
    return f"{repository} is gated and its terms are not accepted", f"accept the terms at {page}"
