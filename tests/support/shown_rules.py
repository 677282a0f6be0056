"""A pytest plugin: which promised rules the tests of this run showed, and which skips nobody allowed.

`--strict-skips`, which CI gives, fails a run that skips what `allowed_skips.py` does not name. A full run, of all tests
without a choice among them, fails by it also for a rule whose tests were all skipped: nobody has seen it hold. A run
of a part knows nothing of the rest, and is held to its skips alone. What a test is marked with travels in its reports,
so that it reaches the process that controls workers as well.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.allowed_skips import ALLOWED_SKIPS, PYTHON, AllowedSkip

MARK = "behaviour"
MANIFEST = Path(__file__).resolve().parents[1] / "behaviours"
RULE = re.compile(r"^- `([^`]+)`: (.+)$", re.MULTILINE)


def promised_rules(manifest: Path = MANIFEST) -> dict[Path, dict[str, str]]:
    """Return the rules of each area, which are lines of a list in its file: `- `, the id as code, and the sentence."""
    areas = sorted(manifest.glob("*.md"))
    return {area: dict(RULE.findall(area.read_text(encoding="utf-8"))) for area in areas}


def rules_of(text: str) -> list[str]:
    """Return the rules that the tests of a file are marked with, by its text: to parse it takes ten times as long."""
    return [rule for mark in re.findall(r"mark\.behaviour\(([^)]*)\)", text) for rule in re.findall('"([^"]+)"', mark)]


@dataclass
class ShownRules:
    """What the reports of a run tell."""

    promised: frozenset[str]
    root: Path
    allowed: Sequence[AllowedSkip] = ALLOWED_SKIPS
    python: str = PYTHON
    shown: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    skipped: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    excused: set[str] = field(default_factory=set)
    unlisted: list[tuple[str, str]] = field(default_factory=list)
    used: set[AllowedSkip] = field(default_factory=set)

    def note(self, report: pytest.TestReport) -> None:
        """Take one phase of a test: what was called and passed shows its rules; an expected failure shows nothing."""
        rules = {str(value) for name, value in report.user_properties if name == MARK}
        if report.skipped and not hasattr(report, "wasxfail"):
            self._skip(report.nodeid, _reason(report), rules)
        elif report.when == "call" or report.failed:
            self.seen |= rules
            self.shown |= rules if report.passed else set()

    def note_file(self, report: pytest.CollectReport) -> None:
        """Take a file that was skipped whole: its tests are in no report, so its text is asked for their rules."""
        text = (self.root / report.nodeid).read_text(encoding="utf-8")
        self._skip(report.nodeid, _reason(report), set(rules_of(text)))

    def _skip(self, test: str, reason: str, rules: set[str]) -> None:
        for rule in rules:
            self.skipped[rule].add(test)
        found = next((entry for entry in self.allowed if entry.allows(test, reason, self.python)), None)
        if found is None:
            self.unlisted.append((test, reason))
            return
        self.used.add(found)
        if found.excuses_rules:
            self.excused |= rules

    @property
    def only_skipped(self) -> list[str]:
        """The rules whose tests were all skipped, but for those that an allowed skip excuses."""
        return sorted(self.skipped.keys() - self.seen - self.excused)

    @property
    def unused(self) -> list[AllowedSkip]:
        """The entries of the table, among those for this Python, that allowed nothing."""
        return [entry for entry in self.allowed if entry.is_for(self.python) and entry not in self.used]

    def wrongs(self, is_full: bool) -> Iterator[str]:
        """Iterate over what fails a strict run, in a sentence each."""
        for test, reason in sorted(set(self.unlisted)):
            yield f"{test} was skipped ({reason}), and tests/support/allowed_skips.py does not say why it may be."
        for rule in self.only_skipped if is_full else ():
            yield f"The rule {rule} was shown by no test: all of its tests were skipped, as {min(self.skipped[rule])}."

    def lines(self, is_full: bool, is_strict: bool) -> Iterator[str]:
        """Iterate over the lines of the summary."""
        if is_full:
            yield f"{len(self.promised)} rules promised, {len(self.shown & self.promised)} shown by tests that ran"
            missing = sorted(self.promised - self.shown)
            yield from ([f"not shown: {', '.join(missing)}"] if missing else [])
        if is_strict:
            yield from self.wrongs(is_full)
        if is_strict and is_full:
            yield from (
                f"allowed_skips.py allows {one.tests} ({one.reason}): nothing was skipped." for one in self.unused
            )


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    longrepr = report.longrepr
    received = longrepr[2] if isinstance(longrepr, (tuple, list)) else str(longrepr)
    return received.removeprefix("Skipped: ")


class Plugin:
    """The plugin in the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._is_strict = bool(config.option.strict_skips)
        chosen = config.option.keyword or config.option.markexpr or config.option.deselect
        self._is_full = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen
        promised = frozenset(rule for rules in promised_rules().values() for rule in rules)
        self._rules = ShownRules(promised, config.rootpath)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a test's report, also one that comes from a worker."""
        self._rules.note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take a file that was skipped."""
        if report.skipped:
            self._rules.note_file(report)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Fail a run that passed and may not, also one that passed only when what failed was tried once more."""
        yield
        if self._is_strict and session.exitstatus == pytest.ExitCode.OK and any(self._rules.wrongs(self._is_full)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what there is to say."""
        lines = list(self._rules.lines(self._is_full, self._is_strict))
        if lines:
            terminalreporter.section("rules")
        for line in lines:
            terminalreporter.write_line(line)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let CI be strict."""
    parser.addoption(
        "--strict-skips",
        action="store_true",
        help="fail for a skip that tests/support/allowed_skips.py does not name, and for a rule that no test showed",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Report where reports are gathered, and not in the workers of pytest-xdist."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Plugin(config), "rules of this run")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let a test's reports carry the rules that it is marked with."""
    item.user_properties.extend((MARK, rule) for mark in item.iter_markers(MARK) for rule in mark.args)
