"""Send a program to a Python, on this host or through the system's OpenSSH client, and read its answer.

Nothing is ever interpolated into a remote shell: the remote command is a constant, the program and even
the path of the Python to use travel on standard input. Everything has a limit: time, bytes, and prompts
(there are none).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.asking.program import BEGIN, END, Program
from surefoot.errors import UnknownError, UsageError

MAX_BYTES = 64 * 2**20
CONNECT_SECONDS = 10
SECONDS = 90.0

_DEFAULT_PYTHON = "python3 -"
_NAMED_PYTHON = "exec /bin/sh -c 'IFS= read -r python && exec \"$python\" -'"
"""Reads the path of the Python as the first line of standard input and becomes it."""

_SSH = (
    "ssh", "-T",
    "-o", "BatchMode=yes",
    "-o", f"ConnectTimeout={CONNECT_SECONDS}",
    "-o", "ServerAliveInterval=5",
    "-o", "ServerAliveCountMax=3",
    "-o", "ClearAllForwardings=yes",
    "-o", "RemoteCommand=none",
    "-o", "LogLevel=ERROR",
)  # fmt: skip

_COMPLAINTS = (
    (r"IDENTIFICATION HAS CHANGED|Host key verification failed|host key is known",
     "its host key is not the known one",
     "if that is expected, `ssh-keygen -R HOST`, then `ssh HOST` once by hand"),
    (r"Permission denied|Too many authentication failures",
     "it accepts none of your keys without asking",
     "make `ssh -o BatchMode=yes HOST true` work first: ssh-add, or ssh-copy-id"),
    (r"Could not resolve hostname", "its name cannot be resolved", "check the name or ~/.ssh/config"),
    (r"timed out|Timeout", "it does not answer", "check that it is up and that you are on its network"),
    (r"Connection refused", "nothing listens on its SSH port", "check the port in ~/.ssh/config"),
    (r"No route to host|Network is unreachable", "there is no route to it", "check VPN or jump host"),
)  # fmt: skip


class HostError(UnknownError):
    """A host could not be asked, so nothing is claimed about it."""


@dataclass(frozen=True)
class Asked:
    """Whom to ask: `host` as OpenSSH understands it (None: this host), and with which Python there."""

    host: str | None = None
    python: str | None = None
    ssh_config: Path | None = None

    def __post_init__(self) -> None:
        if self.host is not None and not re.fullmatch(r"[^\s\x00-\x1f\x7f-]\S*", self.host):
            raise UsageError(f"not a host name: {self.host!r}", remedy="write HOST, user@HOST or ssh://HOST:PORT")
        if self.python is not None and (not self.python or set("\n\r\0") & set(self.python)):
            raise UsageError(f"not the path of a Python: {self.python!r}")

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self.host or "this host"

    def command(self) -> list[str]:
        """The argument vector to run."""
        if self.host is None:
            return [self.python or sys.executable, "-"]
        config = ["-F", str(self.ssh_config)] if self.ssh_config else []
        return [*_SSH, *config, "--", self.host, _NAMED_PYTHON if self.python else _DEFAULT_PYTHON]

    def standard_input(self, program: Program) -> bytes:
        """What is written to it."""
        first = f"{self.python}\n" if self.host is not None and self.python else ""
        return (first + program.text).encode("utf-8", "surrogateescape")


def ask(program: Program, asked: Asked, *, seconds: float = SECONDS) -> dict[str, Any]:
    """Run `program` there and return its answer: `{"python": version, "parts": {...}}`.

    Raises:
        HostError: unreachable, refused, too slow, too loud, cut off, or no usable Python there.
    """
    output, complaint, status = _exchange(asked, asked.standard_input(program), seconds)
    answer = _framed(output, program.mark, asked, complaint, status)
    if "refused" in answer:
        raise HostError(f"{asked.name}: {answer['refused']}", remedy="name another Python with --python")
    return answer


def _exchange(asked: Asked, data: bytes, seconds: float) -> tuple[bytes, str, int]:
    """Write everything, read everything, within the limits: (standard output, standard error, status)."""
    try:
        process = subprocess.Popen(
            asked.command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise HostError(f"{asked.name}: cannot run {asked.command()[0]}: {error.strerror}") from error
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    deadline = time.monotonic() + seconds
    read: dict[Any, bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    pending = memoryview(data)
    try:
        with selectors.DefaultSelector() as selector:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
            for stream in read:
                selector.register(stream, selectors.EVENT_READ)
            while process.stdout in selector.get_map():
                if time.monotonic() >= deadline:
                    raise HostError(f"{asked.name} did not finish within {seconds:g} s")
                for key, _ in selector.select(min(1.0, deadline - time.monotonic())):
                    if key.fileobj is process.stdin:
                        pending = _write(process.stdin, pending)
                        if not pending:
                            selector.unregister(process.stdin)
                            process.stdin.close()
                        continue
                    chunk = os.read(key.fd, 1 << 16)
                    read[key.fileobj] += chunk
                    if not chunk:
                        selector.unregister(key.fileobj)
                    elif len(read[key.fileobj]) > MAX_BYTES:
                        raise HostError(
                            f"{asked.name} printed more than {MAX_BYTES // 2**20} MiB, which no probe does",
                            remedy="look at what its login shell prints",
                        )
        status = process.wait(max(1.0, deadline - time.monotonic()))
        if process.stderr.fileno() is not None:
            os.set_blocking(process.stderr.fileno(), False)
            read[process.stderr] += process.stderr.read() or b""
    except subprocess.TimeoutExpired:
        raise HostError(f"{asked.name} did not finish within {seconds:g} s") from None
    finally:
        _end(process)
    return bytes(read[process.stdout]), read[process.stderr].decode("utf-8", "replace").strip(), status


def _write(stream: Any, pending: memoryview) -> memoryview:
    try:
        return pending[os.write(stream.fileno(), pending) :]
    except BlockingIOError:
        return pending
    except BrokenPipeError:
        return pending[:0]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing running, whatever happened."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def _framed(output: bytes, mark: str, asked: Asked, complaint: str, status: int) -> dict[str, Any]:
    begin, end = f"\n{BEGIN} {mark}\n".encode(), f"\n{END} {mark}\n".encode()
    start = output.find(begin)
    if start < 0:
        raise _no_answer(output, asked, complaint, status)
    stop = output.find(end, start)
    if stop < 0:
        raise HostError(f"{asked.name}: the probe was cut off in the middle of its answer{_because(complaint)}")
    try:
        answer = json.loads(output[start + len(begin) : stop])
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise HostError(f"{asked.name}: the probe's answer is damaged")
    return answer


def _no_answer(output: bytes, asked: Asked, complaint: str, status: int) -> HostError:
    if asked.host is not None and status == 255:
        for pattern, meaning, remedy in _COMPLAINTS:
            if re.search(pattern, complaint):
                return HostError(
                    f"{asked.name}: {meaning}{_because(complaint)}", remedy=remedy.replace("HOST", asked.host)
                )
        return HostError(f"{asked.name}: SSH failed{_because(complaint)}")
    if status == 127 or (status == 126 and asked.python):
        return HostError(
            f"{asked.name}: cannot run {asked.python or 'python3'}{_because(complaint)}",
            remedy="name a Python 3.8 or newer with --python",
        )
    said = complaint or output[-2000:].decode("utf-8", "replace").strip()
    ended = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return HostError(
        f"{asked.name}: the probe {ended} and gave no answer{_because(said)}",
        remedy=f"check that `ssh {asked.host} python3 --version` works" if asked.host else None,
    )


def _because(complaint: str) -> str:
    lines = [line.strip() for line in complaint.splitlines() if line.strip(" \t@\r")]
    return f": {lines[-1][:300]}" if lines else ""
