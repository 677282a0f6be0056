"""The head: the fold of the events, whatever happened, and never large."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic import ValidationError

from hosting.client_tools import ClientTool
from hosting.core.stores.contract import MOST_HEAD_BYTES
from hosting.core.thread import events, head, rows, thread_events, versions
from hosting.core.thread.commands import (
    AcceptRun,
    AnswerApproval,
    CancelRun,
    Change,
    ClaimRun,
    Command,
    DescribeThread,
    EndRun,
    PauseRun,
    PutMessages,
    RecordSteps,
    SetReceiver,
)
from hosting.core.thread.decide import MOST_APPROVALS, MOST_OPEN_RUNS, decide
from hosting.core.thread.head import NEW, fold
from hosting.core.thread.rows import ApprovalRow
from hosting.core.thread.run import unanswered
from hosting.core.thread.run_request import LONGEST_NAME, OF_TASK, Decision, PendingApproval, RunRequest, UserMessage
from hosting.core.thread.thread_rules import MOST_GRANTS
from hosting.core.thread.usage import NOTHING, TokenTotals
from hosting.errors import NewerVersionError, RunFailedError
from hosting.principal import Principal
from tests.hosting.core.thread.played import after
from tests.support.threads import (
    NOW,
    Thread,
    accept,
    accepted,
    completed,
    end,
    model_result,
    terms,
)

DELETED = [thread_events.Deleting(at=NOW, reason="asked"), thread_events.Deleted(at=NOW, receipt={})]


@pytest.mark.behaviour("thread.fold")
def test_the_largest_head_is_one_that_every_store_takes() -> None:
    """With ids as long as they may be, a full queue and all the approvals that one run may ask for."""
    thread = after(accept("r", claimed=True), end("r", *(f"{number:032}" for number in range(MOST_APPROVALS))))
    approvals = thread.head.waiting
    thread = Thread()
    for number in range(MOST_OPEN_RUNS):
        thread.do(accept(f"{number:064}", claimed=True, queue_limit=10_000))
    named = Principal("\\" * LONGEST_NAME, '"' * LONGEST_NAME)
    grants = tuple(head.Grant(id="0" * 16, principal=named, access="read", at=NOW) for _ in range(MOST_GRANTS))
    imported = head.Import(source=f"{'a' * 61}.app~{'t' * 64}/1000/1000000000", position=10**9)
    full = thread.head.model_copy(
        update={
            "waiting": approvals,
            "title": "\U0001f600" * head.TITLE_CHARACTERS,
            "grants": grants,
            "imported": imported,
            "runs": tuple(run.model_copy(update={"notifies": "receivers"}) for run in thread.head.runs),
            "has_receivers": True,
        }
    )

    assert len(full.runs) == MOST_OPEN_RUNS
    assert len(head.encode(full)) < MOST_HEAD_BYTES
    assert not isinstance(decide(full.model_copy(update={"waiting": None}), accept("r", queue_limit=10_000)), Change)


@pytest.mark.behaviour("thread.fold")
def test_the_head_counts_tokens_and_names_the_thread_by_its_first_message() -> None:
    """For lists of threads, which read nothing else: without the blanks around it, and not as long as it may be."""
    thread = Thread()
    request = accepted("r1").model_copy(update={"request": RunRequest(message="  " + "long " * 30)})
    entry = {**completed("r1").entry, "usage": {"inputTokenCount": 3, "outputTokenCount": 4, "totalTokenCount": 7}}
    thread.do(AcceptRun(request, 32, terms("token-r1")))
    thread.do(EndRun("token-r1", completed("r1").model_copy(update={"entry": entry})))
    thread.do(accept("r2"))

    assert thread.head.usage == TokenTotals(input_tokens=3, output_tokens=4, total_tokens=7)
    assert thread.head.title == ("long " * 16)


@pytest.mark.behaviour("thread.fold")
@pytest.mark.parametrize(
    ("calls", "answered", "used"),
    [
        ([""], 25, 25),
        (["", "1.c"], 25, 35),
        ([""], None, 10),
        (["", "1.c", "1.c"], None, 30),
        (["1.1/writer/a", "2.1/editor/b"], 10, 20),
        (["1.1/writer/a"], None, 10),
    ],
    ids=["answer", "answer-and-tool", "failure", "failure-and-tool", "workflow", "failed-workflow"],
)
def test_the_tokens_of_a_run_are_those_of_all_its_recorded_calls(
    calls: list[str], answered: int | None, used: int
) -> None:
    """An answer counts its agent's calls, and those of its tools come to it; a failure has what was recorded.

    A workflow's answer counts some of what its executors' agents used, which is all recorded.
    """
    thread = after(accept("r1", claimed=True))
    response = {"messages": [], "usage_details": {"input_token_count": 6, "total_token_count": 10}}
    for number, within in enumerate(calls, 1):
        step = events.ModelResult(at=NOW, run_id="r1", number=number, within=within, digest="", response=response)
        thread.do(RecordSteps("token-r1", (step,)))
    assert thread.head.used.tokens == 10 * len(calls)
    end: Any = unanswered("r1", NOW, RunFailedError("It failed."))
    if answered is not None:
        entry = {**completed("r1").entry, "usage": {"totalTokenCount": answered}}
        end = completed("r1").model_copy(update={"entry": entry})
    thread.do(EndRun("token-r1", end))

    ended: Any = thread.events[-1]
    assert (ended.usage or ended.entry["usage"])["totalTokenCount"] == used
    assert thread.head.used.tokens == thread.head.usage.total_tokens == used
    assert thread.head.spent == thread.head.spent_within == NOTHING


@pytest.mark.behaviour("thread.fold")
@pytest.mark.parametrize(("answered", "used"), [(None, 5), (9, 9)], ids=["no-answer", "answered"])
def test_the_cost_of_a_run_is_that_of_its_recorded_calls_or_what_its_end_says(answered: int | None, used: int) -> None:
    """Without prices nothing of it is written; code that knows none reads the rest."""
    thread, step = Thread(), {"at": NOW, "run_id": "r1", "digest": "", "response": {"messages": []}}
    thread.do(accept("r1", claimed=True))
    assert b"cost" not in head.encode(thread.head) + events.encode(events.ModelResult(number=1, **step))
    assert b"cost" not in events.encode(completed("r1"))
    for number, within in enumerate(("", "1.a"), 1):
        priced = events.ModelResult(number=number, within=within, cost=number + 1, **step)
        thread.do(RecordSteps("token-r1", (events.decode(events.encode(priced)),)))  # type: ignore[arg-type]
    assert thread.head.used.cost == 5
    end: Any = unanswered("r1", NOW, RunFailedError("It failed."))
    if answered is not None:
        end = completed("r1").model_copy(update={"cost": answered, "model": "small"})
    thread.do(EndRun("token-r1", end))

    assert thread.events[-1].cost == used  # type: ignore[union-attr]
    assert head.decode(head.encode(thread.head)).usage.cost == used
    assert thread.head.spent.cost == thread.head.spent_within.cost == 0


@pytest.mark.behaviour("thread.fold")
@pytest.mark.parametrize("count", [-5, 2**53 + 1, 10**4000, 1.5, True, "7", None])
def test_a_number_of_tokens_that_nobody_can_have_used_is_not_counted(count: object) -> None:
    """Models say what they like; a head is small, and can be read again."""
    thread = after(accept("r1", claimed=True))
    entry = {**completed("r1").entry, "usage": {"inputTokenCount": count, "outputTokenCount": 4}}
    thread.do(EndRun("token-r1", completed("r1").model_copy(update={"entry": entry})))

    assert thread.head.usage == TokenTotals(input_tokens=0, output_tokens=4)


@pytest.mark.behaviour("thread.fold")
@pytest.mark.parametrize("depth", [1, 150, 188, 195, 200, 250, 400])
def test_what_is_written_can_be_read_again(depth: int) -> None:
    """Or is not written: an event that nobody can read would be in the way of all behind it."""
    nested: Any = "x"
    for _ in range(depth):
        nested = [nested]
    event = completed("r1", session={"of": nested})

    try:
        text = events.encode(event)
    except ValueError:
        assert depth > 188
    else:
        assert events.decode(text) == event


@pytest.mark.behaviour("thread.versions")
def test_what_a_newer_version_wrote_is_not_decided_on() -> None:
    """An event, a head or a row: in every rolling deployment two versions share a thread."""
    newer = versions.NEWEST_VERSION + 1
    unknown = b'{"v": %d, "kind": "unheard_of", "at": 1}' % newer
    row = rows.encode(rows.RunRow(v=newer, epoch=0, first=1))

    for read in (
        lambda: events.decode(unknown),
        lambda: events.decode(events.encode(accepted().model_copy(update={"v": newer}))),
        lambda: head.decode(head.encode(NEW.model_copy(update={"v": newer}))),
        lambda: rows.decode(rows.RunRow, row, NEW),
    ):
        with pytest.raises(NewerVersionError):
            read()


def test_a_damaged_event_of_the_newest_version_is_not_taken_for_a_newer_one() -> None:
    """No other process could answer for it."""
    with pytest.raises(ValidationError):
        events.decode(b'{"v": %d, "kind": "accepted"}' % versions.NEWEST_VERSION)


def asking(**members: Any) -> Command:
    """Return the command that begins a run whose request has these members."""
    request = accepted("r1").request.model_copy(update=members)
    return AcceptRun(accepted("r1").model_copy(update={"request": request}), 32, terms("token-r1"))


ASKED = ApprovalRow(epoch=0, asked_by="r1")
VALUE = Decision.of_value("a1", "well")
ASKS = PendingApproval(id="a1", tool="reviewer", arguments={}, kind="ask", answer_schema={"type": "string"})
HELD = accept("r1", claimed=True)
MESSAGES = (UserMessage(message="Hello"),)

KNOWN_SINCE: dict[str, tuple[tuple[Command, ...], int]] = {
    "runs, keys, approvals and cancels": ((HELD, CancelRun(NOW, "r1"), end("r1", "a1")), 1),
    "a task without a receiver": ((asking(webhook=OF_TASK),), 1),
    "metadata": ((DescribeThread(NOW, 0, {"for": "a test"}),), 4),
    "a run that another request ends": ((HELD, replace(accept("r2"), busy="interrupt")), 4),
    "a webhook": ((asking(webhook="https://example.com/"),), 7),
    "a receiver of tasks": ((asking(webhook=OF_TASK), SetReceiver(NOW, 0)), 7),
    "a question": ((HELD, EndRun("token-r1", completed("r1").model_copy(update={"approvals": (ASKS,)}))), 10),
    "the answer of a question": (
        (HELD, end("r1", "a1"), AnswerApproval(NOW, VALUE, ASKED, accepted("r2", decisions=(VALUE,)))),
        10,
    ),
    "options of the model": ((asking(options={"seed": 1}),), 10),
    "tools of the caller": ((asking(client_tools=(ClientTool(name="where"),)),), 10),
    "a context": ((asking(context={"tenant": "a"}),), 12),
    "metadata that are no texts": ((DescribeThread(NOW, 0, {"pinned": True}),), 12),
    "a run of several attempts": (
        (accept("r1"), ClaimRun(NOW, replace(terms("e1", "entity"), v=versions.NEWEST_VERSION))),
        12,
    ),
    "a pause": ((HELD, PauseRun(NOW, "r1")), 12),
    "messages of no run": ((PutMessages(thread_events.MessagesPut(at=NOW, id="p", messages=MESSAGES), "f"),), 12),
}


@pytest.mark.behaviour("thread.versions")
@pytest.mark.behaviour("thread.busy-interrupts")
@pytest.mark.behaviour("workflows.asks")
@pytest.mark.behaviour("groups.versions")
@pytest.mark.behaviour("runs.pause")
@pytest.mark.parametrize(("commands", "version"), KNOWN_SINCE.values(), ids=list(KNOWN_SINCE))
def test_a_thread_is_kept_from_releases_that_do_not_know_what_happened_on_it(
    commands: tuple[Command, ...], version: int
) -> None:
    """They read the head alone before they decide, and would claim, end or answer what they do not understand."""
    thread = after(*commands)

    assert (thread.head.v, max(event.v for event in thread.events)) == (version, version)
    later = fold(thread.head, [accepted("later")])
    assert later.v == version
    assert fold(later, DELETED).v == 1  # a deleted thread begins anew for everybody


@pytest.mark.behaviour("thread.versions")
def test_members_that_this_version_does_not_know_are_no_error() -> None:
    """What is added without a new version may be left unread."""
    text = events.encode(accepted()).replace(b'"kind":', b'"mood": "good", "kind":', 1)

    assert events.decode(text) == accepted()


@pytest.mark.behaviour("thread.versions")
def test_what_a_newer_version_added_to_a_head_stays_when_an_older_one_appends() -> None:
    """At every level: of the thread as long as it lives, of a run and its claim as long as these are open."""
    thread = after(accept("r1", claimed=True))
    value = json.loads(head.encode(thread.head))
    for part in (value, value["runs"][0], value["claim"], value["usage"], value["spent"]):
        part["mood"] = 7
    thread.head = head.decode(json.dumps(value).encode())

    thread.do(RecordSteps("token-r1", (model_result("r1"),)))
    thread.do(accept("r2"))
    working = json.loads(head.encode(thread.head))
    assert thread.head.spent.beyond(NOTHING) == {}
    thread.do(end("r1"))
    ended = json.loads(head.encode(thread.head))
    deleted = fold(thread.head, DELETED)

    assert [part.get("mood") for part in (working, *working["runs"], working["claim"], working["usage"])] == [
        *(7, 7, None, 7, 7)
    ]
    assert [part.get("mood") for part in (ended, *ended["runs"], ended["usage"])] == [7, None, 7]
    assert b"mood" not in head.encode(deleted)


@pytest.mark.behaviour("thread.keys")
def test_a_row_of_another_epoch_or_without_payload_is_of_a_deleted_thread() -> None:
    """Erasing empties rows; until it has come to one, its epoch says the same."""
    row = rows.RunRow(epoch=0, first=1, last=3)
    later = NEW.model_copy(update={"epoch": 2})

    assert rows.decode(rows.RunRow, rows.encode(row), NEW) == row
    assert rows.decode(rows.RunRow, rows.encode(row), later) == rows.DeletedRow(epoch=0)
    assert rows.decode(rows.RunRow, b"", later) == rows.DeletedRow(epoch=-1)
