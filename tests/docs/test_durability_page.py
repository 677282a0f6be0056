"""docs/why-it-is-safe.md and docs/architecture.md: each row of their tables is a promise, and links a test of it."""

from __future__ import annotations

import re

import pytest

from tests.support.page_tables import rows
from tests.support.pages import ROOT, page
from tests.support.shown_rules import promised_rules

PROMISED = {rule for area in promised_rules().values() for rule in area}
RULES = 15

# What each row of the table is promised by.
ROWS = {
    "before the request was answered": "http.idempotent-after-crash",
    "while the run is queued behind others of its thread": "turn.survives-kill-at-every-point",
    "during a model call": "turn.survives-kill",
    "after a model response with tool calls was saved": "journal.nothing-twice",
    "during a tool call": "journal.nothing-twice",
    "during a call of a tool that is marked `@idempotent`": "journal.idempotent-tools",
    "while an agent works that is a tool (`as_tool`)": "journal.agents-as-tools",
    "after a tool's result was saved": "journal.nothing-twice",
    "after the final response was saved": "turn.terminal-record-wins",
    "not killed, but paused until another process had taken over the run": "journal.zombies",
    "by SIGTERM, which lets it stop in order": "service.leave",
    "three times by the same message": "turn.crashing-message-ends",
}

# What promises each row of architecture.md: a rule of thread-log.md (0 has no number), and of the manifest.
FOUND = {
    "the caller's process, before the first append": (1, "http.idempotent-after-crash"),
    "after it, before its signal was taken": (2, "service.promises"),
    "a signal that fails": (2, "thread.failed-signals"),
    "after a 202, a wait or a cancel was answered": (5, "turn.survives-kill"),
    "the process that holds the run": (3, "service.lost-processes"),
    "the attempts before this one": (8, "runner.steps"),
    "the third process that holds the same run": (3, "turn.crashing-message-ends"),
    "the process, while a tool runs": (4, "journal.nothing-twice"),
    "the entity while it holds the run": (3, "thread.lost-holders"),
    "the entity after the end, before its commit": (6, "turn.applied-once"),
    "two executions of one operation": (3, "thread.stale-tokens"),
    "a holder that was paused past its lease": (3, "journal.zombies"),
    "a run that was cancelled in the queue": (7, "thread.cancel"),
    "two processes that end one run": (9, "service.stale"),
    "a caller that leaves": (12, "service.callers-leave"),
    "the process that streams": (13, "streams.killed"),
    "a process that gets SIGTERM": (12, "service.leave"),
    "between the answer of an approval and the run that goes on": (11, "approvals.survives-kill"),
    "between a reset's event and its signal": (10, "service.reset"),
    "a fork, before its first event or after it": (0, "fork.killed"),
    "during a deletion, before the tombstone": (10, "thread.delete"),
    "during a deletion, after the tombstone": (10, "erasure.nothing-is-left"),
    "the log, away before the first append": (15, "turn.log-down"),
    "the log, away while an agent runs": (15, "service.outage"),
    "the log of a document that was restored without it": (6, "thread.document"),
    "one call of the log: refused, late or unanswered": (15, "log.unknown"),
    "an older version of the app, beside a newer one": (0, "groups.versions"),
    "everybody who could end a run": (14, "service.lost-runs"),
}


@pytest.mark.behaviour("docs.durability")
def test_each_row_of_the_table_is_a_promise_and_links_a_test_that_shows_it() -> None:
    """By the mark in the linked file."""
    table = rows(page("docs/why-it-is-safe.md"), "killed")
    linked = {killed: re.findall(r"\]\(\.\./([^)]+)\)", shown) for killed, _, shown in table}

    assert list(linked) == list(ROWS)
    assert set(ROWS.values()) <= PROMISED
    for killed, (path,) in linked.items():
        assert f'behaviour("{ROWS[killed]}")' in (ROOT / path).read_text(encoding="utf-8"), killed


@pytest.mark.behaviour("docs.durability")
def test_what_a_crash_finds_has_a_row_for_each_rule_of_the_thread_s_log_and_links_a_test_that_shows_it() -> None:
    """By the mark in the linked file."""
    table = rows(page("docs/architecture.md"), "killed, lost or paused")
    linked = {killed: re.findall(r"\]\(\.\./([^)]+)\)", shown) for killed, _, _, shown in table}

    assert list(linked) == list(FOUND)
    assert {rule for rule, _ in FOUND.values()} >= set(range(1, RULES + 1))
    assert {name for _, name in FOUND.values()} <= PROMISED
    for killed, (path,) in linked.items():
        assert f'behaviour("{FOUND[killed][1]}")' in (ROOT / path).read_text(encoding="utf-8"), killed


@pytest.mark.behaviour("docs.durability")
def test_the_command_that_shows_it_names_a_file_of_tests_that_kill() -> None:
    """The others of the table are run in the same way."""
    (path,) = re.findall(r"^    python dev\.py test (\S+)$", page("docs/why-it-is-safe.md"), re.MULTILINE)

    assert "SIGKILL" in (ROOT / path).read_text(encoding="utf-8") or "killed_runs" in (ROOT / path).read_text("utf-8")
