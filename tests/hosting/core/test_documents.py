"""Documents that grow: what moves to the archive, what is kept beside them, and what does not fit into them at all."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Content, Message

from hosting.core.archiving import Archiver, Capacity, document_of
from hosting.core.stores.archive import Archive, Volume
from hosting.core.thread.commands import DeleteThread, ResetThread
from hosting.core.thread.events import Completed, Failed
from hosting.core.thread.run_request import RunRequest
from hosting.core.thread_log import epoch_store_key
from hosting.errors import ArchiveUnavailableError, AttachmentsUnavailableError, StoreUnavailableError
from hosting.http.replies import run_reply
from state.codec import read
from state.extension import host_of
from tests.support.cluster.cluster import ADDRESS, HUB, INSTANCE, AppProcess, Cluster, EchoAgent, call

pytestmark = pytest.mark.moved_time

BUDGET = LIMIT = 4096
PLACE = epoch_store_key(HUB, ADDRESS, 0)
VOLUME = Volume(PLACE, 0)
BODY = bytes(range(256)) * 80
HASH = hashlib.sha256(BODY).hexdigest()
URI = f"data:image/png;base64,{base64.b64encode(BODY).decode()}"
PICTURE = RunRequest(message="see", contents=({"$type": "data", "uri": URI, "mediaType": "image/png"},))
ATTACHMENT = {"sha256": HASH, "bytes": 20480, "mediaType": "image/png"}
REFERENCE = {"$type": "text", "text": "[image/png, 20480 bytes]", "attachment": ATTACHMENT}
TELLERS = ("hosting.core.archiving", "hosting.core.agent.smaller_answers")
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "state.md").read_text(encoding="utf-8")


class Teller(EchoAgent):
    """Echoes a text; a number has it answer so many characters, "book" a call of a tool, and then its late result."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[list[tuple[str, str | None]]] = []
        self._booking = iter(
            [
                [Message("assistant", [Content.from_function_call("c1", "book", arguments="{}")])],
                [Message("tool", [Content.from_function_result("c1", result="booked")])],
            ]
        )

    def run(self, messages: Any = None, **options: Any) -> Any:
        """Note the kinds and URIs of all contents that it was sent."""
        sent = [content for message in messages for content in message.contents]
        self.seen.append([(content.type, content.uri or content.text) for content in sent])
        return super().run(messages, **options)

    def says(self, text: str) -> list[Message]:
        """Answer as it is told."""
        if text.startswith("book"):
            return next(self._booking)
        return [Message("assistant", ["x" * int(text)])] if text.isdecimal() else super().says(text)


@pytest.fixture
async def budgeted() -> AsyncIterator[AppProcess]:
    """A process that keeps little of a conversation in its document."""
    cluster = Cluster(Teller, settings={"AGENT_RECENT_BYTES": str(BUDGET)})
    yield cluster.process()
    await cluster.close()


@pytest.fixture
async def limited() -> AsyncIterator[AppProcess]:
    """A process whose documents have a low limit."""
    cluster = Cluster(Teller, settings={"AGENT_STATE_LIMIT_BYTES": str(LIMIT)})
    yield cluster.process()
    await cluster.close()


def stored(app: AppProcess) -> str:
    return app.cluster.engine.documents[INSTANCE]


def archived(app: AppProcess) -> int:
    return host_of(read(stored(app))).archived.entries


async def talk(app: AppProcess, turns: int) -> list[str]:
    return [await app.run(f"turn {number} ".ljust(100, ".")) for number in range(turns)]


async def whole(app: AppProcess) -> list[dict[str, Any]]:
    count = archived(app)
    older = await Archive(app.cluster.archive).read(VOLUME, 1, count) if count else []
    return [*map(json.loads, older), *app.entries()]


@pytest.mark.behaviour("archive.moves-the-oldest")
@pytest.mark.behaviour("archive.counts-all")
async def test_a_long_thread_keeps_its_document_within_the_budget_and_loses_nothing(budgeted: AppProcess) -> None:
    """Whole and in order: the archive and the document are one conversation, and answers count all of it."""
    run_ids = await talk(budgeted, 60)

    entries, ended = await whole(budgeted), await budgeted.terminal(run_ids[-1])
    assert len(json.dumps(budgeted.entries(), separators=(",", ":"))) <= BUDGET
    assert [entry["correlationId"] for entry in entries] == [run_id for run_id in run_ids for _ in range(2)]
    assert [entry["$type"] for entry in entries] == ["request", "response"] * 60
    assert isinstance(ended, Completed)
    assert ended.message_count == host_of(read(stored(budgeted))).archived.messages + len(budgeted.entries()) == 120


@pytest.mark.behaviour("archive.survives-kill")
async def test_a_move_lost_before_its_commit_is_done_again_by_another_run(budgeted: AppProcess) -> None:
    """The entries were in both places; the next delivery, which is not this run's, loses and doubles none."""
    before = await talk(budgeted, 6)
    run_id = await budgeted.open("x" * 1500)
    await budgeted.deliver(run_id, commit=False)
    assert budgeted.archive.puts
    other = budgeted.cluster.process()

    before += [run_id, await other.run("another came first")]
    await other.deliver(run_id)

    assert [entry["correlationId"] for entry in await whole(other)] == [kept for one in before for kept in (one, one)]


@pytest.mark.behaviour("archive.failure-costs-no-answer")
async def test_a_move_whose_answer_is_lost_is_made_again_with_what_came_since(budgeted: AppProcess) -> None:
    """The entries are in both places meanwhile, and in one afterwards."""
    budgeted.archive.loses_answers = True
    talked = await talk(budgeted, 9)
    assert budgeted.archive.puts
    assert archived(budgeted) == 0
    budgeted.archive.loses_answers = False

    talked += await talk(budgeted, 1)

    assert archived(budgeted) > 0
    assert [entry["correlationId"] for entry in await whole(budgeted)] == [one for one in talked for _ in range(2)]


@pytest.mark.behaviour("archive.makes-room")
async def test_one_turn_as_large_as_a_document_makes_room_for_the_next(limited: AppProcess) -> None:
    large = await limited.run(str(BUDGET - 400))
    assert limited.places() == [large]

    following = await limited.run("1000")

    assert limited.places() == [following]
    assert (await Archive(limited.archive).read(VOLUME, 1, 2))[1].count("x") > BUDGET - 500


@pytest.mark.behaviour("archive.never-splits")
async def test_a_tools_call_and_its_late_result_stay_together(budgeted: AppProcess) -> None:
    """A model refuses a result whose call it does not see."""
    await budgeted.run("book".ljust(900, "."))
    await talk(budgeted, 1)
    await budgeted.run("book".ljust(900, "."))
    while not archived(budgeted):
        await talk(budgeted, 1)

    assert archived(budgeted) == 6


@pytest.mark.behaviour("archive.never-splits")
async def test_nothing_moves_from_the_turn_on_that_waits_for_approvals(budgeted: AppProcess) -> None:
    """The run that goes on needs the calls, however little room there is."""
    await talk(budgeted, 3)
    conversation, document = read(stored(budgeted)), json.loads(stored(budgeted))
    document["data"]["extensionData"]["durableAgentHost"]["pause"] = {"runId": budgeted.places()[1], "expiresAt": None}
    both = [read(json.dumps(document)), conversation]
    archiving = Archiver(Archive(budgeted.archive), budget_bytes=1)

    shortened = [await archiving.shorten(PLACE, document_of(one)) for one in both]

    assert [host_of(document.conversation).archived.entries for document in shortened] == [2, 4]
    assert [host_of(archiving.cut(one)).archived.entries for one in both] == [2, 4]


@pytest.mark.behaviour("archive.forgets")
@pytest.mark.parametrize("operation", ["reset", "delete"])
async def test_what_is_forgotten_leaves_the_archive_once_that_can_be_reached(
    budgeted: AppProcess, operation: str
) -> None:
    """The delivery is given back, so that it is done later and not never. A reset begins a volume of its own."""
    await talk(budgeted, 20)
    command = ResetThread(1.0) if operation == "reset" else DeleteThread(1.0)
    decided = await budgeted.log.execute(ADDRESS, command)
    order = {"position": decided.head.reset_at} if operation == "reset" else {"logged": True}
    assert archived(budgeted) > 0
    budgeted.archive.is_away = True

    with pytest.raises(ArchiveUnavailableError):
        await budgeted.operate(order, operation)

    budgeted.archive.is_away = False
    await budgeted.operate(order, operation)
    assert (budgeted.entries(), await budgeted.archive.names(PLACE)) == ([], {})
    if operation == "reset":
        await talk(budgeted, 20)
        count = archived(budgeted)
        assert 0 < count == len(await Archive(budgeted.archive).read(Volume(PLACE, 1), 1, count))


@pytest.mark.behaviour("erasure.attachments")
async def test_a_large_picture_is_kept_beside_the_conversation_and_sent_again(limited: AppProcess) -> None:
    """Before the document refers to it, which has room for it however small it is; the model sees it in each turn."""
    run_id = await limited.open(request=PICTURE)
    await limited.deliver(run_id, commit=False)
    assert (limited.cluster.engine.documents, sorted(await limited.attachments.names(PLACE))) == ({}, [HASH])
    other = limited.cluster.process()
    await other.deliver(run_id)
    await other.run("and now?")

    assert other.entries()[0]["messages"][0]["contents"] == [{"$type": "text", "text": "see"}, REFERENCE]
    assert await other.attachments.read(PLACE, [HASH]) == {HASH: BODY}
    assert [*limited.agent.seen, *other.agent.seen] == [
        [("text", "see"), ("data", URI)],
        [("text", "see"), ("data", URI), ("text", "echo: see"), ("text", "and now?")],
    ]
    assert len(stored(other)) < LIMIT


@pytest.mark.behaviour("erasure.attachments")
@pytest.mark.behaviour("service.given-conversations")
async def test_attachments_that_are_away_give_the_delivery_back(limited: AppProcess) -> None:
    """Nothing is stored without its bytes, and no agent runs without what it was sent before: its run is released."""
    run_id = await limited.open(request=PICTURE)
    limited.attachments.is_away = True
    with pytest.raises(AttachmentsUnavailableError):
        await limited.deliver(run_id)
    limited.attachments.is_away = False
    await limited.deliver(run_id)
    other = limited.cluster.process()
    other.attachments.is_away = True
    run = await other.start(call("and now?"))
    await other.runs.wait(run, other.engine, 1.0)
    released = (await other.kinds())[-3:]
    with pytest.raises(StoreUnavailableError):
        await other.deliver(run.run_id)
    other.attachments.is_away = False

    await other.deliver(run.run_id)

    assert released == ["accepted", "claimed", "released"]
    assert (len(limited.agent.seen), [seen[1] for seen in other.agent.seen]) == (1, [("data", URI)])
    assert (await other.kinds())[-3:] == ["released", "claimed", "completed"]


@pytest.mark.behaviour("erasure.attachments")
async def test_bytes_that_are_gone_are_told_to_the_model(limited: AppProcess, caplog: pytest.LogCaptureFixture) -> None:
    """The thread is not lost with them; the log names it as everywhere, and not by where its bytes were."""
    await limited.run("", request=PICTURE)
    await limited.attachments.erase(PLACE)

    await limited.run("and now?")

    assert limited.agent.seen[1][1] == ("text", "[image/png, 20480 bytes: no longer kept]")
    gone = [record.getMessage() for record in caplog.records if "attachments" in record.getMessage()]
    assert gone == [f"1 attachments of thread {ADDRESS.thread_id} of agent {ADDRESS.agent} are gone."]


@pytest.mark.behaviour("state.full-thread-keeps-its-answer")
async def test_the_turn_that_passes_the_limit_is_kept_in_its_log_until_the_archive_is_back(limited: AppProcess) -> None:
    """The document is not stored over its limit; the operation comes again, and nothing is run anew."""
    limited.archive.is_away = True
    before = await limited.run("first")
    with pytest.raises(ArchiveUnavailableError):
        await limited.run(str(LIMIT - 400))
    waiting = limited.places()
    limited.archive.is_away = False

    following = await limited.run("1")

    assert (waiting, limited.places(), len(limited.agent.seen)) == ([before], [following], 3)


@pytest.mark.behaviour("state.full-thread-refuses")
async def test_a_message_that_would_pass_the_limit_is_refused_and_a_shorter_one_is_taken(limited: AppProcess) -> None:
    """Room is counted before anything is paid for, in bytes and not in characters."""
    limited.archive.is_away = True
    too_long, fits = await limited.run("ü" * (LIMIT // 2)), await limited.run("ü" * (LIMIT // 4))

    assert [(await limited.terminal(run_id)).kind for run_id in (too_long, fits)] == ["failed", "completed"]
    assert limited.places() == [fits]


@pytest.mark.behaviour("state.too-large-answer")
async def test_an_answer_larger_than_a_conversation_is_told_and_leaves_an_error_in_its_place(
    limited: AppProcess,
) -> None:
    """The document stays within twice its limit, and the model never sees the turn."""
    run_id = await limited.run(str(LIMIT))
    reply = json.loads(run_reply(await limited.find_run(run_id), "json", "").body)
    await limited.run("1")

    assert (reply["response"], reply["kept"], reply["message_count"]) == ("x" * LIMIT, False, 2)
    assert limited.entries()[1]["messages"][0]["contents"][0]["errorCode"] == "answer_too_large"
    assert limited.agent.turns[1] == ["1"]
    assert len(stored(limited).encode()) < LIMIT


@pytest.mark.behaviour("state.warns-from-half")
def test_the_log_warns_from_half_of_the_limit_on(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "hosting.core.archiving"):
        for held, lines in ((2047, 0), (2048, 1), (4095, 1), (4096, 1)):
            Capacity(LIMIT, attachment_bytes=1024).warn(ADDRESS, "x" * held)
            assert (held, len(caplog.messages)) == (held, lines)
            caplog.clear()


@pytest.mark.behaviour("state.page")
async def test_the_page_shows_what_is_said_at_each_stage(limited: AppProcess, caplog: pytest.LogCaptureFixture) -> None:
    limited.archive.is_away = True
    await limited.run("a" * 1000)
    long = await limited.terminal(await limited.run("a" * LIMIT))
    await limited.run(str(LIMIT), "t2")
    logged = [record.getMessage() for record in caplog.records if record.name in TELLERS]
    assert isinstance(long, Failed)

    told = {shape(line) for line in (*logged, long.detail)}
    assert {shape(line) for line in re.findall(r"^> (.*)$", PAGE, re.MULTILINE)} == told


def shape(line: str) -> str:
    return re.sub(r"(?<=Thread )\S+|(?<=run )[0-9a-f]{32}|(?<=agent )\w+|\d[\d,]*", "#", line)
