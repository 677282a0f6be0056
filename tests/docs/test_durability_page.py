"""docs/durability.md: its table is that of docs/why-it-is-safe.md, and each row is a promise that tests show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.behaviours import http, journal, service, turn

ROOT = Path(__file__).parents[2]
PROMISED = {**http.BEHAVIOURS, **journal.BEHAVIOURS, **service.BEHAVIOURS, **turn.BEHAVIOURS}

# What each row of the table is promised by.
ROWS = {
    "before the request was answered": "http.idempotent-after-crash",
    "while the run waits for its thread": "turn.survives-kill-at-every-point",
    "while a model answers": "turn.survives-kill",
    "after a model answer with tool calls was recorded": "journal.nothing-twice",
    "while a tool runs": "journal.nothing-twice",
    "while a tool runs that was declared `idempotent`": "journal.idempotent-tools",
    "while an agent works that is a tool (`as_tool`)": "journal.agents-as-tools",
    "after a tool's result was recorded": "journal.nothing-twice",
    "after the final answer was recorded": "turn.terminal-record-wins",
    "not killed, but stopped until another process had taken the run over": "journal.zombies",
    "by SIGTERM, which lets it stop in order": "service.leave",
    "by the same message, three times": "turn.crashing-message-ends",
}


def table_of(page: str) -> list[str]:
    """Return the lines of the page's table of kills."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.search(r"^\| killed \| afterwards \|\n(?:\|.*\n)+", text, re.MULTILINE)
    assert found is not None, page
    return found[0].splitlines()


@pytest.mark.behaviour("docs.durability")
def test_the_page_for_the_sceptic_claims_what_this_one_promises() -> None:
    """The same table, to the letter."""
    assert table_of("docs/why-it-is-safe.md") == table_of("docs/durability.md")


@pytest.mark.behaviour("docs.durability")
def test_each_row_of_the_table_is_a_promise_of_the_manifest() -> None:
    """And every promise behind it is shown by a test that is marked with it."""
    assert [row.split(" | ")[0].removeprefix("| ") for row in table_of("docs/durability.md")[2:]] == list(ROWS)
    assert set(ROWS.values()) <= set(PROMISED)
