"""The fold of a run into each wire's events: the same for every reader, wherever it came back, and no words twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from hosting.core.broadcast import DeltaText, LoggedEvent, Update
from hosting.core.thread.events import Accepted, Cancelled, CancelRequested, Event
from hosting.core.thread.run import Run, unanswered
from hosting.core.thread.run_request import PendingApproval
from hosting.core.thread.thread_events import Reset
from hosting.errors import RunCancelledError, RunFailedError
from hosting.features.a2a.fold import TaskFold
from hosting.features.ag_ui.fold import RunFold
from hosting.features.ag_ui.requests import RunInput
from hosting.features.ai_sdk.fold import AnswerFold
from hosting.features.ai_sdk.messages import assembled
from hosting.features.responses.fold import ResponseFold, WireEvent
from hosting.http.wire_runs import RewrittenError
from hosting.names import Address
from tests.support import ag_ui, ai_sdk
from tests.support.a2a import taken
from tests.support.run_events import (
    AT,
    LOST_AND_INTERRUPTED,
    LOST_WORKFLOW,
    RUNS,
    THOUGHT,
    TOOLS,
    accepted,
    asks,
    claimed,
    completed,
    delta,
    logged,
    run_of,
    started,
    updates,
    words,
)
from tests.support.strictly import event, response

SAID = {
    "tools": "One moment.Done.",
    "lost": "Another",
    "unlogged": "Two",
    "behind": "One.Three",
    "again": "One.Two",
    "changed": "One three",
    "thought": "See.On\n\ne",
    "workflow": "One.\n\nThree",
}
HISTORY = ({"id": "u", "role": "user", "content": "hello"},)
ADDRESS = Address.of("Joker", "t")
WAITS = PendingApproval(id="p", tool="refund", arguments={"n": "7"})


def of_responses(given: Iterable[Update]) -> list[WireEvent]:
    """Return all events, each held strictly."""
    told = list(given)
    fold = ResponseFold("Joker", run_of(told))
    events = [one for update in told for one in fold.next(update)]
    for one in events:
        event({"type": one.type, "sequence_number": one.number, **one.fields})
    return events


def of_ag_ui(given: Iterable[Update]) -> ag_ui.Events:
    """Return all events for a client that begins with a message of its user."""
    told = list(given)
    fold = RunFold(RunInput("t", "r", (), (), HISTORY, is_versioned=True), run_of(told), {}, {})
    return [*fold.start(), *(one for update in told for one in fold.next(update))]


def of_ai_sdk(given: Iterable[Update]) -> list[ai_sdk.Chunk]:
    told = list(given)
    fold = AnswerFold(run_of(told), "m", {}, names_causes=False)
    return [*fold.start(), *(chunk for update in told for chunk in fold.next(update))]


def said_by_ag_ui(events: ag_ui.Events) -> str:
    """Return what the agent says in the messages that a client has then; what was said before the run stays."""
    first, *answer = ag_ui.folded(events, [*HISTORY])
    assert first == HISTORY[0]
    return "".join(one["content"] for one in answer if one["role"] == "assistant")


FOLDS: dict[str, tuple[Callable[[Iterable[Update]], Any], Callable[[Any], str]]] = {
    "responses": (of_responses, lambda events: response(events[-1].fields["response"]).output_text),
    "ag-ui": (of_ag_ui, said_by_ag_ui),
    "ai-sdk": (of_ai_sdk, lambda chunks: ai_sdk.texts(assembled(chunks))),
}
"""What makes the events of a run, and the text that a client of them has at the end."""


@pytest.mark.behaviour("responses.void")
@pytest.mark.behaviour("ag-ui.void")
@pytest.mark.behaviour("ai-sdk.stream")
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("wire", FOLDS)
def test_a_client_has_each_word_that_stands_once(wire: str, name: str) -> None:
    """Whether it read along or comes afterwards."""
    fold, said = FOLDS[wire]
    given = updates(RUNS[name])

    assert said(fold(given)) == said(fold(logged(given))) == SAID[name]


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
@pytest.mark.behaviour("ag-ui.same")
@pytest.mark.parametrize("name", ["tools", "changed"])
def test_who_reads_it_afterwards_gets_the_same_once_words_are_joined(name: str) -> None:
    """Ids, indexes and numbers too."""
    given = updates(RUNS[name])

    assert joined(of_responses(given)) == joined(of_responses(logged(given)))
    assert ag_ui.joined(of_ag_ui(given)) == ag_ui.joined(of_ag_ui(logged(given)))


@pytest.mark.behaviour("responses.resume")
@pytest.mark.parametrize("name", RUNS)
def test_a_reader_that_comes_back_gets_what_is_behind_its_number(name: str) -> None:
    """After each event, and after each character of a delta; the words of each item that stands are whole."""
    given = updates(RUNS[name])
    live, replay = of_responses(given), of_responses(logged(given))
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
@pytest.mark.parametrize("name", ["lost", "unlogged", "behind", "changed"])
def test_what_a_lost_attempt_said_is_incomplete_and_no_output(name: str) -> None:
    """And what stood before it, stands."""
    events = of_responses(updates(RUNS[name]))
    done = [one.fields["item"] for one in events if one.type == "response.output_item.done"]
    voided = {item["id"] for item in done if item["status"] == "incomplete"}

    assert {item["status"] for item in done} == {"completed", "incomplete"}
    assert voided.isdisjoint(item.id for item in response(events[-1].fields["response"]).output)


@pytest.mark.behaviour("responses.void")
def test_the_text_of_an_interrupted_run_stands_when_another_process_ends_it() -> None:
    final = response(of_responses(updates(LOST_AND_INTERRUPTED))[-1].fields["response"])

    assert (final.status, final.output_text) == ("cancelled", "One")


@pytest.mark.behaviour("responses.tools")
def test_the_agents_tool_calls_are_calls_that_the_server_made() -> None:
    """With what they were called with, and what came of them; the message before them is whole."""
    final = response(of_responses(updates(TOOLS))[-1].fields["response"])

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
    events = of_responses(updates(RUNS["again"]))

    calls = [one for one in events[-1].fields["response"]["output"] if one["type"] == "mcp_call"]
    assert [(call["output"], call["status"]) for call in calls] == [("x", "completed")]
    assert [one.type for one in events].count("response.mcp_call.in_progress") == 1


@pytest.mark.behaviour("responses.cancel")
def test_a_cancelled_run_ends_incomplete_with_what_it_had_said() -> None:
    end = unanswered("r", AT, RunCancelledError("The run was cancelled."))
    events = of_responses(updates([accepted(), claimed(), delta(0, "One mo"), asks("a"), started("1.a"), end]))
    final = response(events[-1].fields["response"])

    assert (events[-1].type, final.status, final.output_text) == ("response.incomplete", "cancelled", "One mo")
    assert [item.status for item in final.output if item.type in ("message", "mcp_call")] == ["completed", "incomplete"]


@pytest.mark.behaviour("ag-ui.void")
@pytest.mark.behaviour("ai-sdk.stream")
@pytest.mark.parametrize("name", RUNS)
def test_whatever_happens_no_text_goes_on_that_is_not_open(name: str) -> None:
    """Spans are closed at the end, at a list of messages and at the end of a step; AG-UI uses each id once."""
    opened, seen = set[str](), list[str]()
    for one in of_ag_ui(updates(RUNS[name])):
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
    for chunk in of_ai_sdk(updates(RUNS[name])):
        match chunk["type"]:
            case "text-start":
                assert chunk["id"] not in opened
                opened.add(chunk["id"])
            case "text-delta":
                assert chunk["id"] in opened
            case "text-end":
                opened.remove(chunk["id"])
            case "reset-step":
                opened.clear()
            case "finish-step":
                assert not opened


@pytest.mark.behaviour("ag-ui.void")
@pytest.mark.parametrize(
    ("given", "text"), [(LOST_WORKFLOW[:-1], "One.\n\nThree"), (LOST_AND_INTERRUPTED, "One")], ids=["workflow", "ended"]
)
def test_the_text_that_a_later_attempt_keeps_stays_with_the_client(given: tuple[Any, ...], text: str) -> None:
    """That of a workflow's ended supersteps, and that of an interrupted run, which is claimed to be ended."""
    for told in (updates(given), logged(updates(given))):
        assert said_by_ag_ui(of_ag_ui(told)) == text


@pytest.mark.behaviour("ag-ui.tools")
def test_a_tool_that_failed_says_so_and_no_more() -> None:
    """Calls that were asked for together are calls of one message."""
    given = ag_ui.folded(of_ag_ui(updates(RUNS["tools"])))
    results = {one["toolCallId"]: one["content"] for one in given if one["role"] == "tool"}
    (asking,) = [one for one in given if one.get("toolCalls")]

    assert asking["content"] == "One moment."
    assert [results[call["id"]] for call in asking["toolCalls"]] == ["The tool failed.", "two"]
    assert {call["function"]["arguments"] for call in asking["toolCalls"]} == {'{"n": 1}'}


@pytest.mark.behaviour("ai-sdk.stream")
def test_a_changed_text_of_a_step_that_has_ended_ends_the_stream() -> None:
    """No chunk takes that step back; whoever follows the run again gets the text as it stands."""
    *before, _ = TOOLS

    with pytest.raises(RewrittenError, match="Follow the run again"):
        of_ai_sdk(updates([*before, completed("Another moment.", "Done.")]))


@pytest.mark.behaviour("ai-sdk.stream")
def test_thoughts_stand_where_the_model_had_them_and_lost_ones_are_taken_back() -> None:
    given = updates(THOUGHT)
    live, replay = (assembled(of_ai_sdk(each))["parts"] for each in (given, logged(given)))
    written = [(part["type"], part["text"], part["state"]) for part in live if "text" in part]

    assert live == replay
    assert [text for kind, text, _ in written if kind == "reasoning"] == ["Let me.", "It is.", "Go on."]
    assert {state for _, _, state in written} == {"done"}


def of(event: Any, **fields: Any) -> Any:
    return event.model_copy(update=fields)


SHORTER = (accepted(), claimed(), words(0, "One two"), claimed(2), words(0, "One"), completed("One"))
EMPTY = (accepted(), claimed(), words(0, "One"), claimed(2), completed(""))
FAILED = (
    *(accepted(), claimed(), words(0, "One"), delta(0, "One"), words(3, " mom"), words(3, "")),
    unanswered("r", AT + 1, RunFailedError("The agent failed.")),
)
ASKED = (accepted(), claimed(), of(completed("", approvals=(WAITS,)), at=AT + 1, expires_at=AT + 100))


def task_fold(run: Iterable[Event | DeltaText]) -> TaskFold:
    first, *_ = told = logged(updates(run))
    assert isinstance(first, LoggedEvent)
    fold = task_of(first.event)
    for update in told:
        fold.next(update)
    return fold


def task_of(first: Event | DeltaText) -> TaskFold:
    assert isinstance(first, Accepted)
    return TaskFold(Run(ADDRESS, first, 1, 1))


@pytest.mark.behaviour("a2a.same")
@pytest.mark.parametrize("run", [*RUNS.values(), SHORTER, EMPTY, FAILED], ids=[*RUNS, "shorter", "empty", "failed"])
def test_who_follows_a_task_has_what_is_read_of_it(run: tuple[Event | DeltaText, ...]) -> None:
    """Also of an attempt that was lost, whose words are replaced: from the beginning, and from any place."""
    given = updates(run)
    final = task_fold(run).task()
    for begin in range(1, len(given)):
        fold, stream = task_of(run[0]), list[dict[str, Any]]()
        for update in given[:begin]:
            fold.next(update)
        stream.append(fold.snapshot())
        for update in given[begin:]:
            stream += fold.next(update)
        assert {**taken(stream), "texts": without_empty(taken(stream))} == taken([{"task": final}]), begin


def without_empty(task: dict[str, Any]) -> dict[str, str]:
    """Return a reader's artifacts; one that was emptied is none."""
    return {name: text for name, text in task["texts"].items() if text}


LATE = "Nobody answered in time."


@pytest.mark.behaviour("a2a.approvals")
@pytest.mark.parametrize(
    ("then", "now", "at", "said"),
    [
        ((), AT + 99, AT + 1, None),
        ((), AT + 100, AT + 100, LATE),
        ((Reset(at=AT + 50),), AT + 200, AT + 50, "The conversation was reset."),
        ((Reset(at=AT + 150),), AT + 200, AT + 100, LATE),
        ((of(accepted(), run_id="u", at=AT + 150),), AT + 200, AT + 100, LATE),
    ],
)
def test_a_task_fails_whose_approvals_cannot_come_any_more(
    then: tuple[Event, ...], now: float, at: float, said: str | None
) -> None:
    fold = task_fold((*ASKED, *then))
    fold.expire(now)

    assert (fold.state, fold.since) == ("TASK_STATE_INPUT_REQUIRED" if said is None else "TASK_STATE_FAILED", at)
    if said is not None:
        assert fold.task()["status"]["message"]["parts"] == [{"text": said}]


@pytest.mark.behaviour("a2a.cancel")
def test_a_task_that_was_canceled_in_the_queue_is_canceled_at_once() -> None:
    queued = (accepted(), CancelRequested(at=AT + 1, run_id="r"))
    end = unanswered("r", AT + 9, RunCancelledError("The run was cancelled."))
    assert isinstance(end, Cancelled)

    assert task_fold(queued).task() == task_fold((*queued, end)).task()
    assert task_fold(queued).state == "TASK_STATE_CANCELED"
