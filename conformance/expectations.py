"""What checks have in common: how they look at a service, and what they expect to see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from conformance.port import End, NotOffered, Refused, Run, Service
from conformance.trial import Broken, NotTried, Trial

AWAY = (401, 403, 404, 410)


def expect(is_so: bool, otherwise: str) -> None:
    """Raise Broken with the evidence if it is not so."""
    if not is_so:
        raise Broken(otherwise)


async def expect_once(trial: Trial, thread: str, message: str) -> None:
    """The conversation has the message, once, and no other."""
    turns = await trial.turns(thread)
    expect([sent for sent, _ in turns] == [message], f"the conversation has {turns}")


async def expect_one(trial: Trial, thread: str, message: str, key: str) -> None:
    """Send a request whose first try got no answer twice more: both have one answer, and the conversation has it."""
    first, second = [await trial.service.ask(thread, message, key) for _ in range(2)]

    expect(first == second, f"sent again it is {first}, and then {second}")
    expect(first[1].status == "completed", f"the run ended as {first[1]}")
    await expect_once(trial, thread, message)


async def unanswered(trial: Trial, thread: str, message: str, key: str) -> asyncio.Future[tuple[Run, End]]:
    """Return a request that waits for the answer of a slow run."""
    waiting = asyncio.ensure_future(trial.service.ask(thread, message, key))
    await asyncio.wait({waiting}, timeout=2 * trial.open_seconds)
    if waiting.done():
        raise NotTried(f"the run of --slow ended too soon: {waiting.result()}")
    return waiting


async def expect_in_order(trial: Trial, thread: str, runs: list[Run], messages: list[str]) -> None:
    """Wait for a slow run and those behind it: the conversation has each once, with its answer, in their order."""
    ends = [await trial.end(run) for run in runs]
    turns = await trial.turns(thread)

    expect({end.status for end in ends} == {"completed"}, f"the runs ended as {[end.status for end in ends]}")
    expect([sent for sent, _ in turns][1:] == messages, f"sent {messages}, and the conversation has {turns}")
    expect([said for _, said in turns] == [end.text for end in ends], f"the answers are {ends}, there are {turns}")


async def expect_answered_once(trial: Trial, thread: str, answer: Callable[[bool], Awaitable[Run]]) -> None:
    """Give two answers to one call at once: one is taken, and the other neither then nor later."""
    answers = await asyncio.gather(answer(True), answer(False), return_exceptions=True)
    taken = [given for given in answers if isinstance(given, Run)]
    expect(len(taken) == 1, f"{len(taken)} of 2 answers were taken: {answers}")
    end = await trial.end(taken[0])
    expect(end.status == "completed", f"the run that went on ended as {end}")
    turns = await readable_turns(trial, thread)
    try:
        late = await answer(answers[0] is not taken[0])
        await trial.end(late)
    except Refused as refusal:
        expect(refusal.status < 500, str(refusal))
        if turns is None:
            return
    later = await trial.turns(thread)

    expect(later == turns, f"a second answer, later, made {turns} {later}")


async def expect_nothing_of(service: Service, thread: str) -> None:
    """The thread's conversation is not there, or empty, for this caller."""
    try:
        entries = await service.conversation(thread)
        expect(entries == [], f"its conversation has {entries}")
    except Refused as refusal:
        expect(refusal.status in AWAY, str(refusal))


async def expect_hidden(service: Service, run: Run) -> None:
    """Neither the thread's conversation nor the run is there, for this caller."""
    await expect_nothing_of(service, run.thread)
    try:
        end: End = await service.end(run)
        raise Broken(f"the run is there: {end}")
    except NotOffered:
        pass  # nobody reads a run there
    except Refused as refusal:
        expect(refusal.status in AWAY, str(refusal))


async def tolerated(request: Awaitable[object]) -> None:
    """Wait for a request that the service may refuse; what it does then is looked at later."""
    try:
        await request
    except Refused as refusal:
        expect(refusal.status < 500, str(refusal))


async def readable_turns(trial: Trial, thread: str) -> list[tuple[str, str]] | None:
    """Return a conversation, or nothing where the service has no way to read one."""
    with suppress(NotOffered):
        return await trial.turns(thread)
    return None


def owners(trial: Trial) -> tuple[Service, Service]:
    """Return the service for each of two callers."""
    first, second = (trial.service.as_owner(headers) for headers in trial.owners or ({}, {}))
    if not trial.owners:
        raise NotTried("no two --owner HEADERS, one for each of two callers")
    return first, second
