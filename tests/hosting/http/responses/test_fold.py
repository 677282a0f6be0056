"""The fold of a run into the protocol's events: the same for every reader, wherever it came back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from hosting.errors import RunCancelledError
from hosting.http.responses.fold import ResponseFold, WireEvent
from hosting.request.run_request import PendingApproval, RunRequest
from hosting.service.broadcast import DeltaText, LoggedEvent, Update
from hosting.thread.events import (
    Accepted,
    Claimed,
    Completed,
    Delta,
    Event,
    ModelResult,
    ToolResult,
    ToolStarted,
)
from hosting.thread.run import unanswered
from tests.hosting.http.responses.strictly import event, response

AT = 1_700_000_000.0
R: dict[str, Any] = {"at": AT, "run_id": "r"}


def accepted(*, streamed: bool = True) -> Accepted:
    """A run is asked for."""
    request = RunRequest(message="hello")
    return Accepted(**R, agent="Joker", thread_id="t", request=request, fingerprint="f", streamed=streamed)


def claimed(attempt: int = 1) -> Claimed:
    """A process holds it."""
    return Claimed(**R, attempt=attempt, token="k", holder="caller", lease_seconds=20.0, deadline=AT + 300)


def asks(*calls: str, text: str = "", number: int = 1) -> ModelResult:
    """The model says something and asks for tools."""
    contents: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    contents += [{"type": "function_call", "call_id": call, "name": "look", "arguments": '{"n": 1}'} for call in calls]
    answer = {"messages": [{"role": "assistant", "contents": contents}]}
    return ModelResult(**R, number=number, digest="d", response=answer)


def started(key: str) -> ToolStarted:
    """A tool is called."""
    return ToolStarted(**R, key=key, name="look", digest="d")


def completed(*texts: str, approvals: tuple[PendingApproval, ...] = ()) -> Completed:
    """The agent has answered."""
    messages = [{"role": "assistant", "contents": [{"$type": "text", "text": text}]} for text in texts]
    entry = {"$type": "response", "correlationId": "r", "createdAt": "2023-11-14T22:13:20Z", "messages": messages}
    return Completed(**R, entry=entry, message_count=2, approvals=approvals)


def words(offset: int, text: str) -> DeltaText:
    """Text that was not logged yet."""
    return DeltaText("r", offset, text)


def delta(offset: int, text: str) -> Delta:
    """Text of the log."""
    return Delta(**R, offset=offset, text=text)


TOOLS = (
    *(accepted(), claimed(), words(0, "One "), words(4, "moment."), delta(0, "One moment."), asks("a", "b")),
    *(started("1.a"), started("1.b"), ToolResult(**R, key="1.b", text="two"), ToolResult(**R, key="1.a", error="no")),
    *(words(11, "\n\nDo"), words(15, "ne."), delta(11, "\n\nDone."), completed("One moment.", "Done.")),
)
LOST = (
    *(accepted(), claimed(), words(0, "One"), delta(0, "One"), words(3, " mom"), claimed(2)),
    *(words(0, "Another"), delta(0, "Another"), completed("Another")),
)
LOST_UNLOGGED = (accepted(), claimed(), words(0, "One"), claimed(2), words(0, "Tw"), words(2, "o"), completed("Two"))
LOST_BEHIND_A_TOOL = (
    *(accepted(), claimed(), words(0, "One."), delta(0, "One."), asks("a"), started("1.a")),
    *(ToolResult(**R, key="1.a", text="x"), words(4, "\n\nTw"), claimed(2), claimed(3)),
    *(words(4, "\n\nThree"), delta(4, "\n\nThree"), completed("One.", "Three")),
)
CHANGED = (accepted(), claimed(), words(0, "One two"), delta(0, "One two"), delta(4, "three"), completed("One three"))
RUNS = {"tools": TOOLS, "lost": LOST, "unlogged": LOST_UNLOGGED, "behind": LOST_BEHIND_A_TOOL, "changed": CHANGED}


def updates(run: Iterable[Event | DeltaText]) -> list[Update]:
    """Return what a follower gets, each event at its position."""
    position, found = 0, list[Update]()
    for one in run:
        if not isinstance(one, DeltaText):
            position += 1
        found.append(one if isinstance(one, DeltaText) else LoggedEvent(position, one))
    return found


def folded(given: Iterable[Update]) -> list[WireEvent]:
    """Return all events, each held strictly."""
    fold = ResponseFold("Joker")
    events = [one for update in given for one in fold.next(update)]
    for one in events:
        event({"type": one.type, "sequence_number": one.number, **one.fields})
    return events


def logged(given: Iterable[Update]) -> list[Update]:
    """Return what a reader gets who comes afterwards."""
    return [update for update in given if isinstance(update, LoggedEvent)]


def joined(events: Iterable[WireEvent]) -> list[WireEvent]:
    """Return the events with the deltas of an item as one."""
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
    """Return what of an event a reader has that has that number."""
    if one.number <= number:
        return one
    text = one.fields.get("delta", "")
    had = len(text) - (one.number - number)
    return None if had <= 0 else WireEvent(number, one.type, {**one.fields, "delta": text[:had]})


@pytest.mark.behaviour("responses.void")
@pytest.mark.parametrize(("name", "said"), [("lost", "Another"), ("unlogged", "Two"), ("behind", "One.Three")])
def test_what_a_lost_attempt_said_is_incomplete_and_no_output(name: str, said: str) -> None:
    """And what stood before it, stands."""
    events = folded(updates(RUNS[name]))
    done = [one.fields["item"] for one in events if one.type == "response.output_item.done"]
    final = response(events[-1].fields["response"])

    assert final.output_text == said
    assert {item["status"] for item in done} == {"completed", "incomplete"}
    voided = {item["id"] for item in done if item["status"] == "incomplete"}
    assert voided.isdisjoint(item.id for item in final.output)


def test_an_answer_that_was_changed_is_said_anew() -> None:
    """By an agent's own middleware, after its words went out."""
    events = folded(updates(CHANGED))

    assert response(events[-1].fields["response"]).output_text == "One three"


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


@pytest.mark.behaviour("responses.same")
def test_a_run_that_nobody_streamed_has_the_same_items() -> None:
    """Its words are in the model's recorded answers and in its end."""
    given = [one for one in TOOLS if not isinstance(one, Delta | DeltaText | Accepted | ModelResult)]
    quiet = [accepted(streamed=False), given[0], asks("a", "b", text="One moment."), *given[1:]]

    streamed = folded(updates(TOOLS))[-1].fields["response"]["output"]
    unstreamed = folded(updates(quiet))[-1].fields["response"]["output"]

    def texts(output: list[dict[str, Any]]) -> list[Any]:
        return [item["content"][0]["text"] if "content" in item else item["output"] for item in output]

    assert texts(unstreamed) == texts(streamed)


@pytest.mark.behaviour("responses.cancel")
def test_a_cancelled_run_ends_incomplete_with_what_it_had_said() -> None:
    """Its status says that it was cancelled."""
    end = unanswered("r", AT, RunCancelledError("The run was cancelled."))
    events = folded(updates([accepted(), claimed(), delta(0, "One mo"), asks("a"), started("1.a"), end]))
    final = response(events[-1].fields["response"])

    assert (events[-1].type, final.status, final.output_text) == ("response.incomplete", "cancelled", "One mo")
    assert [item.status for item in final.output if item.type in ("message", "mcp_call")] == ["completed", "incomplete"]
