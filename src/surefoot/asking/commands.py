"""Run another program on this host and read what it prints, within a time limit; read small files."""

from __future__ import annotations

import os
import shutil
import subprocess


class Unlearned(Exception):
    """Something could not be learned; the text says why."""


def find(name: str) -> str | None:
    """The full path of a program: on PATH, or where distributions put those an unprivileged PATH lacks."""
    path = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
    return shutil.which(name, path=path)


def output(argv: list[str], seconds: float = 8.0) -> str:
    """Standard output of a program that must succeed. Raises `Unlearned` with its last line of complaint."""
    program = find(argv[0])
    if program is None:
        raise Unlearned(f"{argv[0]} is not installed")
    try:
        done = subprocess.run(
            [program, *argv[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            env=dict(os.environ, LC_ALL="C"),
        )
    except subprocess.TimeoutExpired:
        raise Unlearned(f"{argv[0]} did not answer in {seconds:g} s") from None
    except OSError as error:
        raise Unlearned(f"{argv[0]} cannot run: {error.strerror}") from None
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        said = (done.stderr.decode("utf-8", "replace").strip() or text.strip()).splitlines()
        reason = said[-1] if said else "no output"
        raise Unlearned(f"{argv[0]} failed ({done.returncode}): {reason}")
    return text


def read(path: str, limit: int = 1 << 20) -> str | None:
    """The stripped text of a small file, None when it is missing or not for us."""
    try:
        with open(path, "rb") as file:
            return file.read(limit).decode("utf-8", "replace").strip()
    except OSError:
        return None


def read_int(path: str) -> int | None:
    """The whole number a small file holds, None when there is none."""
    text = read(path)
    try:
        return int(text) if text else None
    except ValueError:
        return None
