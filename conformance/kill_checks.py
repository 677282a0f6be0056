"""The promises that hold over a kill -9, tried with the command that the user gives for it."""

from __future__ import annotations

import uuid
from contextlib import suppress

import httpx

from conformance.caller_checks import kill_steer
from conformance.expectations import expect, expect_in_order, expect_one, unanswered
from conformance.long_checks import kill_long, kill_pause
from conformance.pause_checks import expect_edited, kill_default
from conformance.port import Refused
from conformance.trial import Reader, Trial, checks_of


async def kill_running(trial: Trial) -> None:
    """Kill the service while a slow run runs, wait for its end, ask once more, and read the conversation."""
    thread = await trial.service.new_thread()
    run = await trial.slow_run(thread)
    await trial.killed()
    end = await trial.end(run)
    _, next_end = await trial.service.ask(thread, trial.message())
    said = [said for _, said in await trial.turns(thread)]

    expect(end.status == "completed", f"it ended as {end}")
    expect(said == [end.text, next_end.text], f"answered {end.text!r}, {next_end.text!r}; the conversation has {said}")


async def kill_queued(trial: Trial) -> None:
    """Kill the service while two runs wait behind a slow one, and read the conversation."""
    thread, messages = await trial.service.new_thread(), [trial.message() for _ in range(2)]
    runs = [await trial.slow_run(thread), *[await trial.service.start(thread, message) for message in messages]]
    await trial.killed()

    await expect_in_order(trial, thread, runs, messages)


async def kill_key(trial: Trial) -> None:
    """Kill the service while a request waits for its answer, and send the request again under its key."""
    thread, message, key = await trial.service.new_thread(), trial.message(trial.slow), uuid.uuid4().hex
    waiting = await unanswered(trial, thread, message, key)
    await trial.killed()
    with suppress(httpx.TransportError, Refused):
        await waiting

    await expect_one(trial, thread, message, key)


async def kill_stream(trial: Trial) -> None:
    """Kill the service after two pieces of a stream, and read on with the last id."""
    run = await trial.service.start(await trial.service.new_thread(), trial.message(trial.slow))
    reader = Reader()
    await trial.stream(run, reader, pieces=2)
    before = reader.text
    await trial.killed()
    await trial.stream(run, reader)
    end = await trial.end(run)

    expect(end.status == "completed", f"the run ended as {end}")
    expect(reader.text == end.text, f"broken after {before!r}: read {reader.text!r}, and the answer is {end.text!r}")


async def kill_conversation(trial: Trial) -> None:
    """Ask twice, kill the service, and read the conversation and the runs."""
    thread = await trial.service.new_thread()
    answers = [await trial.service.ask(thread, trial.message()) for _ in range(2)]
    turns = await trial.turns(thread)
    await trial.killed()

    expect(await trial.turns(thread) == turns, f"it was {turns}, and is {await trial.turns(thread)}")
    for run, end in answers:
        expect(await trial.end(run) == end, f"the answer was {end}, and is {await trial.end(run)}")


async def kill_approval(trial: Trial) -> None:
    """Kill the service while a tool call waits for a person, and approve it."""
    thread = await trial.service.new_thread()
    approval = await trial.waiting(thread)
    await trial.killed()
    end = await trial.end(await trial.service.decide(thread, approval, True))

    expect(end.status == "completed", f"the run that went on ended as {end}")


async def kill_ask(trial: Trial) -> None:
    """Kill the service while a tool's question waits, and answer it."""
    thread = await trial.service.new_thread()
    question = await trial.asked(thread)
    await trial.killed()
    end = await trial.end(await trial.service.answer(thread, question, "here"))

    expect(end.status == "completed", f"the run that went on ended as {end}")


async def kill_edit(trial: Trial) -> None:
    """Approve a call with another text, kill the service, and look for the text in the answer."""
    thread, text = await trial.service.new_thread(), uuid.uuid4().hex
    approval, with_text = await trial.editable(thread)
    run = await trial.service.decide_with(thread, approval, with_text(text))
    await trial.killed()

    await expect_edited(trial, run, text)


async def kill_client_tool(trial: Trial) -> None:
    """Kill the service while a call of the caller's tool waits, and give its result."""
    thread = await trial.service.new_thread()
    call = await trial.called(thread)
    await trial.killed()
    end = await trial.end(await trial.service.give(thread, call, "here"))

    expect(end.status == "completed", f"the run that went on ended as {end}")


KILL_CHECKS = checks_of(
    ("kill.running", "A run under way at a kill ends with one answer.", kill_running),
    ("kill.queued", "Runs that waited at a kill come behind it, each once and in their order.", kill_queued),
    ("kill.key", "A request that a kill broke is one run when it is sent again under its key.", kill_key),
    ("kill.stream", "A stream that a kill broke is resumed without loss and without doubling.", kill_stream),
    ("kill.conversation", "What was answered before a kill is there behind it.", kill_conversation),
    ("kill.approval", "A tool call that waits for a person waits over a kill.", kill_approval),
    ("kill.ask", "A tool's question to a person waits over a kill.", kill_ask),
    ("kill.pause", "A run that is paused stands still over a kill.", kill_pause),
    ("kill.edited", "A tool call is made with the arguments that a person gave it over a kill.", kill_edit),
    ("kill.default", "A question without an answer gets its default over a kill.", kill_default),
    ("kill.steer", "A message that is to join the run at work is given once over a kill.", kill_steer),
    ("kill.long", "A long run goes on behind a kill, and makes no step again that was done.", kill_long),
    ("kill.client-tool", "A call of a tool that the caller runs waits over a kill.", kill_client_tool),
)
