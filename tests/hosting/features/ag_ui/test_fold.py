"""The fold of a run into the protocol's events: the same for every reader, and no words twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from hosting.core.broadcast import Update
from hosting.features.ag_ui.fold import RunFold
from hosting.features.ag_ui.requests import RunInput
from tests.support.ag_ui import Events, folded, joined
from tests.support.run_events import LOST_AND_INTERRUPTED, LOST_WORKFLOW, RUNS, logged, run_of, updates

HISTORY = ({"id": "u", "role": "user", "content": "hello"},)
SAID = {
    "tools": ["One moment.", "Done."],
    "lost": ["Another"],
    "unlogged": ["Two"],
    "behind": ["One.", "Three"],
    "again": ["One.", "Two"],
    "changed": ["One three"],
    "thought": ["See.", "On", "\n\ne"],
    "workflow": ["One.\n\nThree"],
}


def events_of(given: Iterable[Update]) -> Events:
    """Return all events for a client that begins with a message of its user."""
    updates = list(given)
    wanted = RunInput("t", "r", (), (), HISTORY, is_versioned=True)
    fold = RunFold(wanted, run_of(updates), {}, {})
    return [*fold.start(), *(event for update in updates for event in fold.next(update))]


@pytest.mark.behaviour("ag-ui.same")
@pytest.mark.parametrize("name", ["tools", "changed"])
def test_who_reads_it_afterwards_gets_the_same_once_words_are_joined(name: str) -> None:
    """Ids too."""
    given = updates(RUNS[name])

    assert joined(events_of(given)) == joined(events_of(logged(given)))


@pytest.mark.behaviour("ag-ui.void")
@pytest.mark.parametrize("name", RUNS)
def test_a_client_has_each_word_that_stands_once(name: str) -> None:
    """Whether it read along or comes afterwards, under the same ids; what was said before the run stays."""
    given = updates(RUNS[name])
    live, replay = (folded(events_of(each), [*HISTORY]) for each in (given, logged(given)))

    assert live == replay
    assert live[0] == HISTORY[0]
    assert [one["content"] for one in live[1:] if one["role"] == "assistant"] == SAID[name]


@pytest.mark.behaviour("ag-ui.void")
@pytest.mark.parametrize("name", RUNS)
def test_whatever_happens_spans_are_closed_and_ids_are_used_once(name: str) -> None:
    """At the end of a stream, and before each list of messages."""
    opened, seen = set[str](), list[str]()
    for one in events_of(updates(RUNS[name])):
        match one["type"]:
            case "TEXT_MESSAGE_START":
                assert not opened
                opened.add(one["messageId"])
                seen.append(one["messageId"])
            case "TEXT_MESSAGE_END":
                opened.remove(one["messageId"])
            case "TEXT_MESSAGE_CONTENT":
                assert one["messageId"] in opened
            case _:
                assert not opened
    assert len(seen) == len(set(seen))


@pytest.mark.behaviour("ag-ui.void")
@pytest.mark.parametrize(
    ("given", "text"), [(LOST_WORKFLOW[:-1], "One.\n\nThree"), (LOST_AND_INTERRUPTED, "One")], ids=["workflow", "ended"]
)
def test_the_text_that_a_later_attempt_keeps_stays_with_the_client(given: tuple[Any, ...], text: str) -> None:
    """That of a workflow's ended supersteps, and that of an interrupted run, which is claimed to be ended."""
    for told in (updates(given), logged(updates(given))):
        assert [one["content"] for one in folded(events_of(told)) if one["role"] == "assistant"] == [text]


@pytest.mark.behaviour("ag-ui.tools")
def test_a_tool_that_failed_says_so_and_no_more() -> None:
    """Calls that were asked for together are calls of one message."""
    given = folded(events_of(updates(RUNS["tools"])))
    results = {one["toolCallId"]: one["content"] for one in given if one["role"] == "tool"}
    (asking,) = [one for one in given if one.get("toolCalls")]

    assert asking["content"] == "One moment."
    assert [results[call["id"]] for call in asking["toolCalls"]] == ["The tool failed.", "two"]
    assert {call["function"]["arguments"] for call in asking["toolCalls"]} == {'{"n": 1}'}
