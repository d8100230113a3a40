"""Shared by all tests: a skip nobody expected fails the run when SUREFOOT_STRICT_SKIPS is set."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TRITON_INTERPRET", "1")
"""GPU kernels run in Triton's interpreter, as tests have no GPU to count on."""

EXPECTED_SKIPS = ("needs a CUDA device", "needs ../shared")
"""Reasons that are fine anywhere: hardware and material that a fresh machine does not have."""


class _Skips:
    def __init__(self) -> None:
        self.unexpected: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple) and not hasattr(report, "wasxfail"):
            reason = str(report.longrepr[2])
            if not any(expected in reason for expected in EXPECTED_SKIPS):
                self.unexpected.append(f"{report.nodeid}: {reason}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unexpected and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self.unexpected:
            terminalreporter.write_line(f"UNEXPECTED SKIP {line}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("SUREFOOT_STRICT_SKIPS"):
        config.pluginmanager.register(_Skips(), "unexpected-skips")
