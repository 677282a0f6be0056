"""The fold of a run into the protocol's events: the same for every reader, wherever it came back."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from hosting.core.broadcast import Update
from hosting.core.thread.run import unanswered
from hosting.errors import RunCancelledError
from hosting.features.responses.fold import ResponseFold, WireEvent
from tests.support.run_events import (
    AT,
    LOST_AND_INTERRUPTED,
    RUNS,
    TOOLS,
    accepted,
    asks,
    claimed,
    delta,
    logged,
    run_of,
    started,
    updates,
)
from tests.support.strictly import event, response


def folded(given: Iterable[Update]) -> list[WireEvent]:
    """Return all events, each held strictly."""
    told = list(given)
    fold = ResponseFold("Joker", run_of(told))
    events = [one for update in told for one in fold.next(update)]
    for one in events:
        event({"type": one.type, "sequence_number": one.number, **one.fields})
    return events


def joined(events: Iterable[WireEvent]) -> list[WireEvent]:
    found: list[WireEvent] = []
    for one in events:
        last = found[-1] if found else None
        if last is not None and one.type == last.type == "response.output_text.delta":
            text = last.fields["delta"] + one.fields["delta"]
            found[-1] = WireEvent(one.number, one.type, {**one.fields, "delta": text})
        else:
            found.append(one)
    return found


@pytest.mark.behaviour("responses.same")
@pytest.mark.parametrize("name", ["tools", "changed"])
def test_who_reads_it_afterwards_gets_the_same_once_deltas_are_joined(name: str) -> None:
    """Ids, indexes and numbers too."""
    given = updates(RUNS[name])

    assert joined(folded(given)) == joined(folded(logged(given)))


@pytest.mark.behaviour("responses.resume")
@pytest.mark.parametrize("name", RUNS)
def test_a_reader_that_comes_back_gets_what_is_behind_its_number(name: str) -> None:
    """After each event, and after each character of a delta; the words of each item that stands are whole."""
    given = updates(RUNS[name])
    live, replay = folded(given), folded(logged(given))
    final = response(live[-1].fields["response"])
    whole = {
        item["id"]: item["content"][0]["text"] for item in replay[-1].fields["response"]["output"] if "content" in item
    }

    assert live[-1] == replay[-1]
    for count in range(1, len(live)):
        for number in {live[count - 1].number, live[count - 1].number - 1, live[count].number}:
            before = [cut for one in live[: count + 1] if (cut := up_to(one, number)) is not None]
            both = [*before, *(cut for one in replay if (cut := one.after(number)) is not None)]
            texts: dict[str, str] = {}
            for one in both:
                if one.type == "response.output_text.delta":
                    texts[one.fields["item_id"]] = texts.get(one.fields["item_id"], "") + one.fields["delta"]
            numbers = [one.number for one in both]
            indexes = [one.fields["output_index"] for one in both if one.type == "response.output_item.added"]
            assert numbers == sorted(set(numbers))
            assert indexes == list(range(len(indexes)))
            assert {name: texts[name] for name in whole} == whole
            assert both[-1] == live[-1]
    assert final.status == "completed"


def up_to(one: WireEvent, number: int) -> WireEvent | None:
    if one.number <= number:
        return one
    text = one.fields.get("delta", "")
    had = len(text) - (one.number - number)
    return None if had <= 0 else WireEvent(number, one.type, {**one.fields, "delta": text[:had]})


@pytest.mark.behaviour("responses.void")
@pytest.mark.parametrize(
    ("name", "said"), [("lost", "Another"), ("unlogged", "Two"), ("behind", "One.Three"), ("changed", "One three")]
)
def test_what_a_lost_attempt_said_is_incomplete_and_no_output(name: str, said: str) -> None:
    """And what stood before it, stands."""
    events = folded(updates(RUNS[name]))
    done = [one.fields["item"] for one in events if one.type == "response.output_item.done"]
    final = response(events[-1].fields["response"])

    assert final.output_text == said
    assert {item["status"] for item in done} == {"completed", "incomplete"}
    voided = {item["id"] for item in done if item["status"] == "incomplete"}
    assert voided.isdisjoint(item.id for item in final.output)


@pytest.mark.behaviour("responses.void")
def test_the_text_of_an_interrupted_run_stands_when_another_process_ends_it() -> None:
    final = response(folded(updates(LOST_AND_INTERRUPTED))[-1].fields["response"])

    assert (final.status, final.output_text) == ("cancelled", "One")


@pytest.mark.behaviour("responses.tools")
def test_the_agents_tool_calls_are_calls_that_the_server_made() -> None:
    """With what they were called with, and what came of them; the message before them is whole."""
    final = response(folded(updates(TOOLS))[-1].fields["response"])

    kinds = [item.type for item in final.output]
    assert kinds == ["message", "mcp_call", "mcp_call", "message"]
    first, second = final.output[1:3]
    assert first.type == second.type == "mcp_call"
    assert (first.status, first.output, first.error is None) == ("failed", None, False)
    assert (second.status, second.output, second.arguments) == ("completed", "two", '{"n": 1}')
    assert final.output_text == "One moment.Done."


@pytest.mark.behaviour("responses.tools")
def test_a_call_that_a_later_attempt_makes_again_is_one_item() -> None:
    """It stays in progress until it has a result."""
    events = folded(updates(RUNS["again"]))

    calls = [one for one in events[-1].fields["response"]["output"] if one["type"] == "mcp_call"]
    assert [(call["output"], call["status"]) for call in calls] == [("x", "completed")]
    assert [one.type for one in events].count("response.mcp_call.in_progress") == 1


@pytest.mark.behaviour("responses.cancel")
def test_a_cancelled_run_ends_incomplete_with_what_it_had_said() -> None:
    end = unanswered("r", AT, RunCancelledError("The run was cancelled."))
    events = folded(updates([accepted(), claimed(), delta(0, "One mo"), asks("a"), started("1.a"), end]))
    final = response(events[-1].fields["response"])

    assert (events[-1].type, final.status, final.output_text) == ("response.incomplete", "cancelled", "One mo")
    assert [item.status for item in final.output if item.type in ("message", "mcp_call")] == ["completed", "incomplete"]
