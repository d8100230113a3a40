"""Exact bytes, and GB told apart from GiB: every size in Surefoot is an `int` of bytes until it is shown."""

from __future__ import annotations

import re

from surefoot.errors import UsageError

_FACTORS = {
    "": 1, "B": 1,
    "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40, "PIB": 2**50,
}  # fmt: skip
_SIZE = re.compile(r"\s*(\d+)(?:\.(\d+))?\s*([KMGTP]?i?B)?\s*", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Bytes meant by `595 GB`, `593GiB`, `1024`; exact integer arithmetic, rounded down to a whole byte.

    Raises:
        UsageError: `text` is no size. A bare `595G` is refused, as it could be read both ways.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"not a size: {text!r}", remedy="write it like '595 GB' (10^9) or '593 GiB' (2^30)")
    whole, fraction, unit = match.group(1), match.group(2) or "", (match.group(3) or "").upper()
    return int(whole + fraction) * _FACTORS[unit] // int("1" + "0" * len(fraction))


def decimal(size: int) -> str:
    """`size` bytes in the largest decimal unit: `595.15 GB`."""
    return _scaled(size, 1000, ("B", "kB", "MB", "GB", "TB", "PB"))


def binary(size: int) -> str:
    """`size` bytes in the largest binary unit: `554.28 GiB`."""
    return _scaled(size, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def both(size: int) -> str:
    """`size` bytes in both kinds of unit, so that nobody confuses them: `595.15 GB (554.28 GiB)`."""
    return f"{decimal(size)} ({binary(size)})"


def _scaled(size: int, base: int, units: tuple[str, ...]) -> str:
    exponent = 0
    while exponent + 1 < len(units) and abs(size) >= base ** (exponent + 1):
        exponent += 1
    return f"{size} B" if exponent == 0 else f"{size / base**exponent:.2f} {units[exponent]}"
