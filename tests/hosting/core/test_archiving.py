"""A thread that outgrows its document: what moves to the archive, when, and what a crash in between leaves."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from agent_framework import AgentResponse, Content, Message

from hosting.core.archiving import Archiver, document_of
from hosting.core.stores.archive import Volume
from hosting.core.thread.commands import DeleteThread, ResetThread
from hosting.core.thread.events import Completed
from hosting.errors import ArchiveUnavailableError
from state.codec import read
from state.extension import host_of
from tests.support.bench import ADDRESS, PLACE, Bench

BUDGET = 4096
VOLUME = Volume(PLACE, 0)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(environ={"AGENT_RECENT_BYTES": str(BUDGET)})
    yield bench
    bench.loop.close()


async def talk(bench: Bench, turns: int) -> list[str]:
    return [await bench.run(f"turn {number} ".ljust(100, ".")) for number in range(turns)]


async def whole(bench: Bench) -> list[dict[str, Any]]:
    count = host_of(read(bench.state)).archived.entries
    older = await bench.archive.read(VOLUME, 1, count) if count else []
    return [*map(json.loads, older), *bench.entries()]


@pytest.mark.behaviour("archive.moves-the-oldest")
async def test_a_long_thread_keeps_its_document_within_the_budget_and_loses_nothing(bench: Bench) -> None:
    """Whole and in order: the archive and the document are one conversation."""
    run_ids = await talk(bench, 60)

    assert len(json.dumps(bench.entries(), separators=(",", ":"))) <= BUDGET
    assert [entry["correlationId"] for entry in await whole(bench)] == [run_id for run_id in run_ids for _ in range(2)]
    assert [entry["$type"] for entry in await whole(bench)] == ["request", "response"] * 60


@pytest.mark.behaviour("archive.counts-all")
async def test_an_answer_counts_the_messages_of_the_whole_conversation(bench: Bench) -> None:
    run_ids = await talk(bench, 30)

    ended = await bench.terminal(run_ids[-1])
    assert isinstance(ended, Completed)
    assert ended.message_count == 60
    assert host_of(read(bench.state)).archived.messages + sum(len(entry["messages"]) for entry in bench.entries()) == 60


@pytest.mark.behaviour("archive.survives-kill")
async def test_a_move_lost_before_its_commit_is_done_again_by_another_run(bench: Bench) -> None:
    """The entries were in both places; the next delivery, which is not this run's, loses and doubles none."""
    before = await talk(bench, 6)
    run_id = await bench.open("x" * 1500)
    await bench.signal(run_id, commit=False)
    assert bench.archive.puts
    bench.restart()

    before += [run_id, await bench.run("another came first")]
    await bench.signal(run_id)

    assert [entry["correlationId"] for entry in await whole(bench)] == [kept for one in before for kept in (one, one)]


@pytest.mark.behaviour("archive.failure-costs-no-answer")
async def test_a_move_whose_answer_is_lost_is_made_again_with_what_came_since(bench: Bench) -> None:
    """The entries are in both places meanwhile, and in one afterwards."""
    bench.archive.loses_answers = True
    talked = await talk(bench, 9)
    assert bench.archive.puts
    assert host_of(read(bench.state)).archived.entries == 0
    bench.archive.loses_answers = False

    talked += await talk(bench, 1)

    assert host_of(read(bench.state)).archived.entries > 0
    assert [entry["correlationId"] for entry in await whole(bench)] == [one for one in talked for _ in range(2)]


@pytest.mark.behaviour("archive.makes-room")
async def test_one_turn_as_large_as_a_document_makes_room_for_the_next() -> None:
    async def answer_at_length(text: str) -> AgentResponse[None]:
        return AgentResponse(messages=[Message("assistant", ["x" * int(text)])])

    bench = Bench(environ={"AGENT_STATE_LIMIT_BYTES": str(BUDGET)})
    bench.agent.work = answer_at_length
    large = await bench.run(str(BUDGET - 400))
    assert bench.places() == [large]

    following = await bench.run("1000")

    assert bench.places() == [following]
    assert (await bench.archive.read(VOLUME, 1, 2))[1].count("x") > BUDGET - 500
    bench.loop.close()


@pytest.mark.behaviour("archive.never-splits")
async def test_a_tools_call_and_its_late_result_stay_together(bench: Bench) -> None:
    """A model refuses a result whose call it does not see."""
    call = Content.from_function_call("c1", "book", arguments="{}")
    pending = AgentResponse(messages=[Message("assistant", [call])])
    booked = AgentResponse(messages=[Message("tool", [Content.from_function_result("c1", result="booked")])])
    answers = iter([pending, booked])

    async def work(text: str) -> AgentResponse[Any]:
        return next(answers) if text.startswith("book") else AgentResponse(messages=[Message("assistant", ["ok"])])

    bench.agent.work = work
    runs = [await bench.run("book".ljust(900, ".")), *await talk(bench, 1), await bench.run("book".ljust(900, "."))]

    await talk(bench, 10)
    assert bench.archive.puts[0] == (1, 6)
    assert len(set(runs)) == 3


@pytest.mark.behaviour("archive.forgets")
async def test_a_reset_erases_what_was_archived_and_begins_a_volume_of_its_own(bench: Bench) -> None:
    await talk(bench, 20)
    assert host_of(read(bench.state)).archived.entries > 0

    await bench.reset()
    assert await bench.archive.erase(PLACE) == 0
    await talk(bench, 20)

    count = host_of(read(bench.state)).archived.entries
    assert 0 < count == len(await bench.archive.read(Volume(PLACE, 1), 1, count))


@pytest.mark.behaviour("archive.forgets")
@pytest.mark.parametrize("operation", ["reset", "delete"])
async def test_a_thread_is_not_forgotten_while_the_archive_is_away(bench: Bench, operation: str) -> None:
    """The delivery is given back, so that it is done later and not never."""
    await talk(bench, 20)
    command = ResetThread(time.time()) if operation == "reset" else DeleteThread(time.time())
    decided = await bench.services.log.execute(ADDRESS, command)
    order = {"position": decided.head.reset_at} if operation == "reset" else {"logged": True}
    state, bench.archive.is_down = bench.state, True

    with pytest.raises(ArchiveUnavailableError):
        await bench.deliver(order, name=operation)

    bench.archive.is_down = False
    await bench.deliver(order, name=operation)
    assert bench.state != state
    assert bench.entries() == []
    assert await bench.archive.erase(PLACE) == 0


@pytest.mark.behaviour("archive.never-splits")
async def test_nothing_moves_from_the_turn_on_that_waits_for_approvals(bench: Bench) -> None:
    """The run that goes on needs the calls, however little room there is."""
    await talk(bench, 3)
    conversation = read(bench.state)
    document = json.loads(bench.state)
    document["data"]["extensionData"]["durableAgentHost"]["pause"] = {"runId": bench.places()[1], "expiresAt": None}
    waiting = read(json.dumps(document))
    archiving = Archiver(bench.archive, budget_bytes=1)

    shortened = [await archiving.shorten(PLACE, document_of(one)) for one in (waiting, conversation)]

    assert [host_of(document.conversation).archived.entries for document in shortened] == [2, 4]
    assert [host_of(archiving.cut(one)).archived.entries for one in (waiting, conversation)] == [2, 4]
