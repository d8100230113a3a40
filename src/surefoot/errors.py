"""The exceptions of Surefoot: one tree, each message says what happened, each remedy what to do next.

The command line turns any `SurefootError` into one line on standard error and the class's exit code
(0 done, 1 failed or no-go, 2 wrong use, 3 unknown). Anything else that escapes is a bug.
"""

from __future__ import annotations


class SurefootError(Exception):
    """Something failed. `remedy` is a next step for the person who reads it, when there is one."""

    exit_code = 1

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return self.message if self.remedy is None else f"{self.message} ({self.remedy})"


class UsageError(SurefootError):
    """What was asked for cannot be meant: an unknown strategy, a budget of 0, a name that is none."""

    exit_code = 2


class InputError(SurefootError):
    """A file or an answer from outside is missing, torn or contradictory."""


class MissingDependencyError(SurefootError):
    """An optional package is not installed."""


class UnknownError(SurefootError):
    """What was asked could not be learned, so nothing is claimed."""

    exit_code = 3
