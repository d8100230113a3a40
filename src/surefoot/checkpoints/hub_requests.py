"""Small requests to a hub through the session of `huggingface_hub`: bounded, retried, logged; never a weight.

`HF_ENDPOINT`, `HF_TOKEN` and the token file are the client's own. Redirects to another host lose the token:
the client strips it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from huggingface_hub import constants, get_session
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

from surefoot.errors import InputError

HTTPError: type[Exception] = HfHubHTTPError.__bases__[0]
"""Root of the client's errors, refused connections included, whichever HTTP library it stands on."""

TIMEOUT = 20.0
RETRIES = 2
PASSING = frozenset({408, 429, 500, 502, 503, 504})
LONGEST_PAUSE = 30.0
BACKOFF = 0.5
"""Seconds before the first retry; a `Retry-After` of the hub wins."""


class HubRequests:
    """Requests for one repository. `log` takes a line for each."""

    def __init__(self, repository: str, log: Callable[[str], None] | None) -> None:
        self.repository = repository
        self.log = log
        self.headers = {**build_hf_headers(), "Accept-Encoding": "identity"}

    def api(self, path: str) -> bytes:
        """Answer of `/api/models/{repository}{path}`, at most 64 MiB."""
        return self._get(f"{constants.ENDPOINT}/api/models/{self.repository}{path}", 64 * 2**20)

    def file(self, path: str, revision: str, limit: int) -> bytes:
        """A whole small file. Raises `InputError` when it is longer than `limit` bytes."""
        data = self._get(self._url(path, revision), limit + 1)
        if len(data) > limit:
            raise InputError(f"{path} is larger than {limit} bytes")
        return data

    def range(self, path: str, revision: str, start: int, length: int) -> bytes:
        """`length` bytes from `start`, fewer at the end of the file; never more, whatever is sent."""
        wanted = {"Range": f"bytes={start}-{start + length - 1}"}
        return self._get(self._url(path, revision), length, wanted, start)

    def _url(self, path: str, revision: str) -> str:
        return f"{constants.ENDPOINT}/{self.repository}/resolve/{quote(revision, safe='')}/{quote(path)}"

    def _get(self, url: str, limit: int, extra: dict[str, str] | None = None, start: int = 0) -> bytes:
        """Ask, and ask again after passing trouble: a lost connection, too many requests, a server error."""
        for attempt in range(RETRIES):
            try:
                return self._once(url, limit, extra or {}, start)
            except HTTPError as error:
                response = error.response if isinstance(error, HfHubHTTPError) else None
                if response is not None and response.status_code not in PASSING:
                    raise
                time.sleep(_pause(attempt, response))
        return self._once(url, limit, extra or {}, start)

    def _once(self, url: str, limit: int, extra: dict[str, str], start: int) -> bytes:
        began = time.monotonic()
        received = bytearray()
        status = 0
        try:
            with get_session().stream("GET", url, headers={**self.headers, **extra}, timeout=TIMEOUT) as response:
                status = response.status_code
                if status >= 400:
                    response.read()
                hf_raise_for_status(response)
                if extra and start and status != 206:
                    raise InputError(f"the hub ignores range requests: {url}")
                for chunk in response.iter_bytes():
                    received += chunk
                    if len(received) > limit:
                        break
        finally:
            if self.log is not None:
                spent = 1000 * (time.monotonic() - began)
                self.log(f"GET {url} {extra.get('Range', '')} -> {status}, {len(received)} B, {spent:.0f} ms")
        return bytes(received[:limit])


def _pause(attempt: int, response: Any) -> float:
    """Seconds to wait: what the hub asks for, within bounds, or ever longer."""
    asked = response.headers.get("Retry-After", "") if response is not None else ""
    return min(float(asked), LONGEST_PAUSE) if asked.isdecimal() else BACKOFF * 2**attempt


def token_source() -> str:
    """Where the client takes its token from, never the token."""
    if os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN"):
        return "environment"
    with suppress(OSError, UnicodeDecodeError), open(constants.HF_TOKEN_PATH, encoding="utf-8") as file:
        if file.read().strip():
            return "file"
    return "none"
