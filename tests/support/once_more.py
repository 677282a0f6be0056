"""A pytest plugin: with `--once-more`, which CI gives, what failed is run a second time, alone and in one process.

What passes then is unsteady: the run names it with its first failure, and passes if there are few of them. What fails
again, and a file that could not be read, fails the run.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

MOST_UNSTEADY = 3
"""A run with more of them fails: that many say something about the change."""
MOST_TRIED = 20
"""With more failures than that nothing is tried again, because it is no accident."""


class OnceMore:
    """The failures of a run, in the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._first: dict[str, str] = {}
        self._is_unreadable = False
        self._lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the first failure of a test, in whichever phase."""
        if report.failed:
            self._first.setdefault(report.nodeid, first_line(report))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note that a file could not be read."""
        self._is_unreadable = self._is_unreadable or report.failed

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Try again what failed, once the other processes of the run have ended; pass where that is enough."""
        if exitstatus != pytest.ExitCode.TESTS_FAILED or self._is_unreadable or not self._first:
            return
        if len(self._first) > MOST_TRIED:
            self._lines.append(f"{len(self._first)} tests failed, so none was tried again")
            return
        unsteady = [test for test in self._first if self._passes(test)]
        self._lines += [f"unsteady: {test}: {self._first[test]}" for test in unsteady]
        self._lines += [f"failed twice: {test}" for test in self._first if test not in unsteady]
        if unsteady != list(self._first):
            return
        if len(unsteady) > MOST_UNSTEADY:
            self._lines.append(f"{len(unsteady)} tests were unsteady: more than {MOST_UNSTEADY} fail a run")
            return
        session.exitstatus = pytest.ExitCode.OK

    def _passes(self, test: str) -> bool:
        strict = ["--strict-skips"] if self._config.getoption("--strict-skips", default=False) else []
        # The kills of a test are no tests that pytest finds: they follow its first run.
        command = [sys.executable, "-m", "pytest", *strict, test.partition("[killed ")[0]]
        ended = subprocess.run(
            command, cwd=self._config.rootpath, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if ended.returncode != pytest.ExitCode.OK:
            self._lines.append(ended.stdout)
        return ended.returncode == pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what came of it."""
        if self._lines:
            terminalreporter.section("tried once more")
        for line in self._lines:
            terminalreporter.write_line(line)


def first_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    return next(iter(text.splitlines()), "")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let CI ask for it."""
    parser.addoption("--once-more", action="store_true", help="try again, alone, what failed; a few may then pass")


def pytest_configure(config: pytest.Config) -> None:
    """Watch where reports are gathered, and not in the workers of pytest-xdist."""
    if config.option.once_more and not hasattr(config, "workerinput"):
        config.pluginmanager.register(OnceMore(config), "what failed, once more")
