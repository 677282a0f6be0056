"""A run followed: every event once and in order, words as they come, from whichever process."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from hosting.core.broadcast import DeltaText, Follower, LoggedEvent, Update
from hosting.core.following import Following
from hosting.core.thread.commands import ClaimRun, DeleteThread, EndRun, FinishDelete, RecordSteps
from hosting.core.thread.events import Delta
from hosting.core.thread.run import Run, unanswered
from hosting.core.thread.run_request import StartRun
from hosting.errors import LogUnavailableError, RunFailedError, ThreadDeletedError
from hosting.names import Address
from tests.support.cluster.charging import THINKING_SECONDS, charging_agent
from tests.support.cluster.cluster import ADDRESS, AGENT, AppProcess, Cluster, call
from tests.support.threads import end, terms

pytestmark = pytest.mark.moved_time

Processes = tuple[AppProcess, AppProcess]
WHOLE = ["accepted", "claimed", "echo:", " hi", "completed"]


def shown(news: list[Update]) -> list[str]:
    return [words(one) or one.event.kind if isinstance(one, LoggedEvent) else one.text for one in news]


def words(one: Update) -> str:
    output = one.event if isinstance(one, LoggedEvent) else one
    return output.text if isinstance(output, Delta | DeltaText) else ""


async def followed(app: AppProcess, run: Run) -> list[str]:
    return [name async for news in app.following.follow(run, app.engine) for name in shown(news)]


async def joined(frames: AsyncIterator[list[Update]]) -> list[Update]:
    return [one async for news in frames for one in news]


async def text_of(app: AppProcess, run: Run) -> str:
    text = ""
    async for news in app.following.follow(run, app.engine):
        for one in news:
            output = one.event if isinstance(one, LoggedEvent) else one
            text = text[: output.offset] + output.text if isinstance(output, Delta | DeltaText) else text
    return text


@pytest.mark.behaviour("service.following")
async def test_a_follower_in_the_process_that_holds_the_run_hears_each_word_once(app: AppProcess) -> None:
    run = await app.start(call(streams=True))

    assert await followed(app, run) == WHOLE


@pytest.mark.behaviour("service.following")
async def test_what_is_appended_while_a_follower_reads_the_log_is_told_once() -> None:
    """It is told of it as it is appended, too: positions rise by one."""

    async def asked(messages: object) -> int:
        return 1

    cluster = Cluster(lambda: charging_agent(AGENT, asked, Counter()))
    app = cluster.process()
    run = await app.start(call("a charge"))
    app.store.before_events = lambda: asyncio.sleep(1.5 * THINKING_SECONDS)

    told = [update async for news in app.following.follow(run, app.engine) for update in news]
    await cluster.close()

    logged = [update for update in told if isinstance(update, LoggedEvent)]
    assert [update.position for update in logged] == [*range(1, len(logged) + 1)]
    assert [update.event.kind for update in logged][-3:] == ["tool_started", "tool_result", "completed"]


async def held_in(app: AppProcess, asked: StartRun) -> Run:
    app.agent.gate.clear()
    run = await app.start(asked)
    for _ in range(500):
        if app.holders.held[run.run_id].streamed() == "echo: hi":
            break
        await asyncio.sleep(0.01)
    return run


@pytest.mark.behaviour("service.words")
async def test_words_are_heard_in_their_process_before_they_are_logged(cluster: Cluster) -> None:
    app = cluster.process(AGENT_STREAM_BATCH_SECONDS="10")
    run = await held_in(app, call(streams=True))
    heard = ""
    async with aclosing(app.following.follow(run, app.engine)) as updates:
        while heard != "echo: hi":
            heard += "".join(map(words, await anext(updates)))

    assert (await app.find_run(run.run_id)).text != heard


@pytest.mark.behaviour("service.following")
async def test_text_that_no_log_has_is_taken_back_when_the_run_ends_without_an_answer(cluster: Cluster) -> None:
    """By a delta without text: another process ends the run, and its holder does not know of it yet."""
    app = cluster.process(AGENT_STREAM_BATCH_SECONDS="10")
    run = await held_in(app, call(streams=True))
    token = app.holders.held[run.run_id].token
    lost = unanswered(run.run_id, 1.0, RunFailedError("Its process was lost."))
    received: list[Update] = []

    async for news in app.following.follow(run, app.engine):
        received += news
        if news and shown(received) == ["accepted", "claimed", "echo:", " hi"]:
            await app.log.execute(ADDRESS, EndRun(token, lost))

    cut, last = received[-2:]
    assert isinstance(cut, DeltaText)
    assert (cut.offset, cut.text, shown([last])) == (len("echo:"), "", ["failed"])


@pytest.mark.behaviour("service.following")
async def test_a_follower_in_another_process_has_the_same_text_from_the_log(two: Processes) -> None:
    one, other = two
    run = await one.start(call(streams=True))
    found = await other.runs.find(Address.of(AGENT, "t1"), run.run_id, other.engine)

    assert await text_of(other, found) == "echo: hi"


@pytest.mark.behaviour("service.following")
async def test_a_run_that_is_taken_over_is_followed_to_its_end(two: Processes) -> None:
    """What was not settled is said anew, from its offset on."""
    one, other = two
    one.agent.gate.clear()
    run = await one.start(call(streams=True))
    found = await other.runs.find(Address.of(AGENT, "t1"), run.run_id, other.engine)
    following = asyncio.ensure_future(text_of(other, found))
    await asyncio.sleep(0.1)
    one.die()

    await other.deliver(run.run_id)

    assert await asyncio.wait_for(following, 5.0) == "echo: hi"


@pytest.mark.behaviour("service.following")
async def test_a_thread_whose_log_is_gone_ends_those_who_follow_it_or_wait(two: Processes) -> None:
    one, other = two
    one.agent.gate.clear()
    run = await one.start(call())
    following = asyncio.ensure_future(followed(other, run))
    waiting = asyncio.ensure_future(other.runs.wait(run, other.engine, 2.0))
    await asyncio.sleep(0.02)
    await other.log.execute(ADDRESS, DeleteThread(1.0))
    buried = await other.log.execute(ADDRESS, FinishDelete(2.0, {}))
    await other.store.erase(ADDRESS, buried.head.trimmed)

    for received in (following, waiting):
        with pytest.raises(ThreadDeletedError):
            await asyncio.wait_for(received, 1.0)
    one.agent.gate.set()


@pytest.mark.behaviour("service.following")
@pytest.mark.behaviour("streams.mended")
async def test_an_answer_that_is_shorter_than_what_was_streamed_ends_there_for_a_follower_too(
    app: AppProcess,
) -> None:
    """Middleware may take words back that were said already."""
    run = await app.start(call(waits=False, streams=True))
    await app.log.execute(ADDRESS, ClaimRun(1.0, terms("token")))
    said = [Delta(at=1.0, run_id=run.run_id, offset=at, text=text) for at, text in ((0, "Good evening"), (4, ""))]
    for one in said:
        await app.log.execute(ADDRESS, RecordSteps("token", (one,)))
    await app.log.execute(ADDRESS, end(run.run_id, token="token"))

    assert await text_of(app, run) == "Good"


@pytest.mark.behaviour("service.following")
async def test_a_follower_outlives_an_outage_of_the_log_but_not_one_without_end(two: Processes) -> None:
    """Whoever shows the stream is then told that the log is away."""
    one, other = two
    one.agent.gate.clear()
    run = await one.start(call(streams=True))
    short = Following(other.care, outage_seconds=0.05)
    outliving, ending = asyncio.ensure_future(followed(other, run)), short.follow(run, other.engine)
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
    follower = Follower()
    for offset in range(3):
        follower.push(DeltaText("r1", offset, "x" * 400_000))

    assert (follower.has_missed, follower.drain()) == (True, [])


@pytest.mark.behaviour("service.words")
async def test_what_comes_as_the_time_of_a_follower_ends_is_not_left_for_its_next_look() -> None:
    """Both fall into one turn of the loop, and the time is first: the log need not be read for that."""
    follower, delta = Follower(), DeltaText("r1", 0, "here")
    waiting = asyncio.ensure_future(follower.wait(0.0))
    for _ in range(3):
        await asyncio.sleep(0)  # it waits; its time ends; it is to go on, and has not yet
    follower.push(delta)
    await waiting

    assert follower.drain() == [delta]
