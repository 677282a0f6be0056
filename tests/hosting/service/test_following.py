"""A run followed: every event once and in order, words as they come, from whichever process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from hosting.errors import LogUnavailableError, ThreadDeletedError
from hosting.service.changes import Appended, Follower, News, Spoken
from hosting.service.following import Following
from hosting.service.runs import Run
from hosting.thread.commands import Bury, Claim, Delete, Record
from hosting.thread.events import Delta
from tests.hosting.service.process import ADDRESS, AGENT, Process, call
from tests.support.threads import end, terms

Processes = tuple[Process, Process]
WHOLE = ["accepted", "claimed", "echo:", " hi", "completed"]


def shown(news: list[News]) -> list[str]:
    """Return events by their kinds and words as they are."""
    return [one.event.kind if isinstance(one, Appended) else one.text for one in news]


async def followed(process: Process, run: Run) -> list[str]:
    """Follow a run to its end."""
    return [name async for news in process.following.follow(run) for name in shown(news)]


async def joined(frames: AsyncIterator[list[News]]) -> list[News]:
    """Return all that is still told."""
    return [one async for news in frames for one in news]


async def text_of(process: Process, run: Run) -> str:
    """Return the text that a reader has in the end, who puts each piece at its offset."""
    text = ""
    async for news in process.following.follow(run):
        for one in news:
            text = text[: one.offset] + one.text if isinstance(one, Spoken) else text
    return text


@pytest.mark.behaviour("service.following")
async def test_a_follower_in_the_process_that_holds_the_run_hears_each_word_once(process: Process) -> None:
    """When it comes, and not again when it is logged."""
    run = await process.runs.start(AGENT, call(streams=True), process.engine)

    assert await followed(process, run) == WHOLE


@pytest.mark.behaviour("service.following")
async def test_a_follower_in_another_process_has_the_same_text_from_the_log(processes: Processes) -> None:
    """In other pieces, perhaps."""
    one, other = processes
    run = await one.runs.start(AGENT, call(streams=True), one.engine)
    found = await other.runs.find(AGENT, "t1", run.run_id, other.engine)

    assert await text_of(other, found) == "echo: hi"


@pytest.mark.behaviour("service.following")
async def test_a_run_that_has_ended_is_told_from_its_log(processes: Processes) -> None:
    """With its words joined as they were logged."""
    one, other = processes
    run = await one.runs.start(AGENT, call(streams=True), one.engine)
    await one.runs.wait(run, one.engine, 5.0)

    told = await followed(other, run)

    assert (told[:2], told[-1]) == (["accepted", "claimed"], "completed")
    assert await text_of(other, run) == "echo: hi"


@pytest.mark.behaviour("service.following")
async def test_what_another_process_appends_between_keeps_no_follower_waiting(processes: Processes) -> None:
    """A run that is accepted elsewhere on the same thread has a position, too."""
    one, other = processes
    one.agent.gate.clear()
    run = await one.runs.start(AGENT, call(streams=True), one.engine)
    following = asyncio.ensure_future(followed(one, run))
    await asyncio.sleep(0.05)
    await other.runs.start(AGENT, call("second", waits=False), other.engine)
    one.agent.gate.set()

    assert await asyncio.wait_for(following, 5.0) == WHOLE


@pytest.mark.behaviour("service.following")
async def test_a_run_that_is_taken_over_is_followed_to_its_end(processes: Processes) -> None:
    """What was not settled is said anew, from its offset on."""
    one, other = processes
    one.agent.gate.clear()
    run = await one.runs.start(AGENT, call(streams=True), one.engine)
    found = await other.runs.find(AGENT, "t1", run.run_id, other.engine)
    following = asyncio.ensure_future(text_of(other, found))
    await asyncio.sleep(0.1)
    one.die()

    await other.deliver(run.run_id)

    assert await asyncio.wait_for(following, 5.0) == "echo: hi"


@pytest.mark.behaviour("service.following")
async def test_a_quiet_run_is_told_as_quiet(process: Process) -> None:
    """So that whoever stands between does not cut the stream."""
    process.agent.gate.clear()
    run = await process.runs.start(AGENT, call(), process.engine)
    quiet = 0
    async for news in process.following.follow(run):
        quiet += not news
        if quiet == 2:
            process.agent.gate.set()

    assert quiet >= 2


@pytest.mark.behaviour("service.following")
async def test_a_deleted_thread_ends_those_who_follow_it(processes: Processes) -> None:
    """By a refusal of ours, and not by silence."""
    one, other = processes
    one.agent.gate.clear()
    run = await one.runs.start(AGENT, call(), one.engine)
    following = asyncio.ensure_future(followed(other, run))
    await asyncio.sleep(0.02)
    await other.log.ask(ADDRESS, Delete(1.0))

    with pytest.raises(ThreadDeletedError):
        await asyncio.wait_for(following, 5.0)
    one.agent.gate.set()


@pytest.mark.behaviour("service.following")
async def test_a_thread_whose_log_is_gone_ends_those_who_follow_it_or_wait(processes: Processes) -> None:
    """It was deleted and erased between two looks."""
    one, other = processes
    one.agent.gate.clear()
    run = await one.runs.start(AGENT, call(), one.engine)
    following = asyncio.ensure_future(followed(other, run))
    waiting = asyncio.ensure_future(other.runs.wait(run, other.engine, 2.0))
    await asyncio.sleep(0.02)
    await other.log.ask(ADDRESS, Delete(1.0))
    buried = await other.log.ask(ADDRESS, Bury(2.0, {}))
    await other.store.erase(ADDRESS, buried.head.trimmed)

    for told in (following, waiting):
        with pytest.raises(ThreadDeletedError):
            await asyncio.wait_for(told, 1.0)
    one.agent.gate.set()


@pytest.mark.behaviour("service.following")
async def test_a_follower_of_a_run_that_waits_hears_it_begin_in_its_process(process: Process) -> None:
    """At once, however long it would be until the next look at a store that cannot push."""
    process.store.pushes = False
    patient = Following(process.log, process.store, process.changes, process.holders, first_look_seconds=60.0)
    process.agent.gate.clear()
    await process.runs.start(AGENT, call("first"), process.engine)
    run = await process.runs.start(AGENT, call("hi", streams=True), process.engine)
    waiting = asyncio.ensure_future(process.runs.wait(run, process.engine, 5.0))
    process.following = patient
    following = asyncio.ensure_future(followed(process, run))
    await asyncio.sleep(0.02)
    process.agent.gate.set()

    assert await asyncio.wait_for(following, 5.0) == WHOLE
    await waiting


@pytest.mark.behaviour("service.following")
async def test_what_a_later_attempt_says_anew_takes_the_place_of_what_an_earlier_one_said(process: Process) -> None:
    """Also where it is the beginning of that."""
    run = await process.runs.start(AGENT, call(waits=False, streams=True), process.engine)
    run_id, log = run.run_id, process.log
    for number, text in enumerate(("Good evening", "Good")):
        silent = (await log.head(ADDRESS)).append_id
        await log.ask(ADDRESS, Claim(1.0, terms(f"token-{number}"), silent=silent))
        await log.ask(ADDRESS, Record(f"token-{number}", (Delta(at=1.0, run_id=run_id, offset=0, text=text),)))
    await log.ask(ADDRESS, end(run_id, token="token-1"))

    assert await text_of(process, run) == "Good"


@pytest.mark.behaviour("service.following")
async def test_a_follower_outlives_an_outage_of_the_log_but_not_one_without_end(processes: Processes) -> None:
    """Whoever shows the stream is then told that the log is away."""
    one, other = processes
    one.agent.gate.clear()
    run = await one.runs.start(AGENT, call(streams=True), one.engine)
    short = Following(other.log, other.store, other.changes, other.holders, outage_seconds=0.05)
    outliving, ending = asyncio.ensure_future(followed(other, run)), short.follow(run)
    assert shown(await anext(ending))[0] == "accepted"
    await asyncio.sleep(0.02)
    other.store.is_away = True

    with pytest.raises(LogUnavailableError):
        await asyncio.wait_for(joined(ending), 5.0)
    await asyncio.sleep(0.1)  # the other one has looked, too
    other.store.is_away = False
    one.agent.gate.set()
    assert (await asyncio.wait_for(outliving, 5.0))[-1] == "completed"


@pytest.mark.behaviour("service.bounded")
def test_a_follower_that_fell_behind_keeps_nothing_of_what_it_missed() -> None:
    """It is sent to the log."""
    follower = Follower()
    for offset in range(3):
        follower.tell(Spoken("r1", offset, "x" * 400_000))

    assert (follower.has_missed, follower.take()) == (True, [])
