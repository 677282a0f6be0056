"""docs/why-it-is-safe.md: each row of its table is a promise, and links a test that is marked with it."""

from __future__ import annotations

import re

import pytest

from tests.behaviours import http, journal, service, turn
from tests.support.page_tables import rows
from tests.support.pages import ROOT, page

PROMISED = {**http.BEHAVIOURS, **journal.BEHAVIOURS, **service.BEHAVIOURS, **turn.BEHAVIOURS}

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


@pytest.mark.behaviour("docs.durability")
def test_each_row_of_the_table_is_a_promise_and_links_a_test_that_shows_it() -> None:
    """By the mark in the linked file."""
    table = rows(page("docs/why-it-is-safe.md"), "killed")
    linked = {killed: re.findall(r"\]\(\.\./([^)]+)\)", shown) for killed, _, shown in table}

    assert list(linked) == list(ROWS)
    assert set(ROWS.values()) <= set(PROMISED)
    for killed, (path,) in linked.items():
        assert f'behaviour("{ROWS[killed]}")' in (ROOT / path).read_text(encoding="utf-8"), killed


@pytest.mark.behaviour("docs.durability")
def test_the_command_that_shows_it_names_a_file_of_tests_that_kill() -> None:
    """The others of the table are run in the same way."""
    (path,) = re.findall(r"^    python dev\.py test (\S+)$", page("docs/why-it-is-safe.md"), re.MULTILINE)

    assert "SIGKILL" in (ROOT / path).read_text(encoding="utf-8") or "killed_runs" in (ROOT / path).read_text("utf-8")
