"""why-it-is-safe.md and crash-points.md: each row of their tables is a promise, and links a test of it."""

from __future__ import annotations

import re

import pytest

from tests.support.page_tables import rows
from tests.support.pages import ROOT, page
from tests.support.shown_rules import promised_rules

PROMISED = {rule for area in promised_rules().values() for rule in area}

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
    "three times at the same step": "turn.crashing-message-ends",
    "again and again in a [run of hours](../guides/long-runs.md), while its attempts end too": "run.attempts-killed",
}

# What promises each row of crash-points.md.
FOUND = {
    "the caller's process, before the first append": "http.idempotent-after-crash",
    "after it, before its signal was taken": "service.promises",
    "a signal that fails": "thread.failed-signals",
    "the engine's answer to a signal that it took, or a process that slept meanwhile": "service.late-answers",
    "after a 202, a wait or a cancel was answered": "turn.survives-kill",
    "a signal that the engine took, by [an older version](../guides/redeploying.md#a-new-agent)": "service.promised",
    "the process that holds the run": "service.lost-processes",
    "the attempts before this one": "runner.steps",
    "the third process that holds the same run": "turn.crashing-message-ends",
    "the process, while a tool runs": "journal.nothing-twice",
    "the entity while it holds the run": "thread.lost-holders",
    "the entity after the end, before its commit": "turn.applied-once",
    "two executions of one operation": "thread.stale-tokens",
    "a holder that was paused past its lease": "journal.zombies",
    "a run that was cancelled in the queue": "thread.cancel",
    "two processes that end one run": "service.stale",
    "the process that [puts messages](../guides/thread-state.md) into a new thread, "
    "before its signal was taken": "thread.put-killed",
    "the process that works on a [batch](../reference/http-runs.md#many-requests-in-one)": "batch.once",
    "a caller that leaves": "service.callers-leave",
    "the process that streams": "streams.killed",
    "a process that gets SIGTERM": "service.leave",
    "between the answer of an approval and the run that goes on": "approvals.survives-kill",
    "between a reset's event and its signal": "service.reset",
    "a fork, before its first event or after it": "fork.killed",
    "during a deletion, before the tombstone": "thread.delete",
    "during a deletion, after the tombstone": "erasure.nothing-is-left",
    "the host, between an episode's messages and its history": "orchestrations.repeated-episode",
    "the process that tries a [webhook](../guides/notifications.md#when-your-receiver-fails), "
    "before its clock is started": "webhooks.again",
    "the process that sends a [webhook](../guides/notifications.md#when-a-receiver-hangs) "
    "to a receiver that hangs": "webhooks.apart",
    "the log, away before the first append": "turn.log-down",
    "the log, away while an agent runs": "service.outage",
    "the log of a document that was restored without it": "thread.document",
    "one call of the log: refused, late or unanswered": "log.unknown",
    "an older version of the app, beside a newer one": "groups.versions",
    "all processes that could end a run": "service.lost-runs",
}


@pytest.mark.behaviour("docs.durability")
def test_each_row_of_the_table_is_a_promise_and_links_a_test_that_shows_it() -> None:
    """By the mark in the linked file."""
    table = rows(page("docs/explanation/why-it-is-safe.md"), "killed")
    linked = {killed: re.findall(r"\]\(\.\./\.\./([^)]+)\)", shown) for killed, _, shown in table}

    assert list(linked) == list(ROWS)
    assert set(ROWS.values()) <= PROMISED
    for killed, (path,) in linked.items():
        assert f'behaviour("{ROWS[killed]}")' in (ROOT / path).read_text(encoding="utf-8"), killed


@pytest.mark.behaviour("docs.durability")
def test_each_crash_point_is_a_promise_and_links_a_test_that_shows_it() -> None:
    """By the mark in the linked file."""
    table = rows(page("docs/contributing/crash-points.md"), "killed, lost or paused")
    linked = {killed: re.findall(r"\]\(\.\./\.\./([^)]+)\)", shown) for killed, _, _, shown in table}

    assert list(linked) == list(FOUND)
    assert set(FOUND.values()) <= PROMISED
    for killed, (path,) in linked.items():
        assert f'behaviour("{FOUND[killed]}")' in (ROOT / path).read_text(encoding="utf-8"), killed


@pytest.mark.behaviour("docs.durability")
def test_the_command_that_shows_it_names_a_file_of_tests_that_kill() -> None:
    """The others of the table are run in the same way."""
    (path,) = re.findall(r"^    python dev\.py test (\S+)$", page("docs/explanation/why-it-is-safe.md"), re.MULTILINE)

    assert "SIGKILL" in (ROOT / path).read_text(encoding="utf-8") or "killed_runs" in (ROOT / path).read_text("utf-8")
