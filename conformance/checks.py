"""The promises that can be tried on a service that stays up."""

from __future__ import annotations

import asyncio
import re
import uuid

from conformance.expectations import (
    AWAY,
    expect,
    expect_hidden,
    expect_in_order,
    expect_once,
    expect_one,
    owners,
    tolerated,
    unanswered,
)
from conformance.port import Refused
from conformance.trial import Broken, Reader, Trial, checks_of

AT_ONCE = 5


async def key_again(trial: Trial) -> None:
    """Ask, ask again with the same key and message, and read the conversation."""
    thread, message, key = await trial.service.new_thread(), trial.message(), uuid.uuid4().hex
    first, second = [await trial.service.ask(thread, message, key) for _ in range(2)]

    expect(first == second, f"first {first}, then {second}")
    await expect_once(trial, thread, message)


async def key_at_once(trial: Trial) -> None:
    """Send one message under one key five times at the same moment, and read the conversation."""
    thread, message, key = await trial.service.new_thread(), trial.message(), uuid.uuid4().hex
    answers = await asyncio.gather(*(trial.service.ask(thread, message, key) for _ in range(AT_ONCE)))

    expect(len(set(answers)) == 1, f"{len(set(answers))} answers: {sorted(set(answers), key=str)}")
    await expect_once(trial, thread, message)


async def key_reused(trial: Trial) -> None:
    """Send another message under a key that was used."""
    thread, key = await trial.service.new_thread(), uuid.uuid4().hex
    first, _ = await trial.service.ask(thread, trial.message(), key)
    try:
        second, end = await trial.service.ask(thread, trial.message(), key)
    except Refused as refusal:
        expect(refusal.status < 500, str(refusal))
    else:
        raise Broken(f"the other message was answered: {second} {end}, first {first}")


async def key_broken(trial: Trial) -> None:
    """Break the connection of a slow request that waits for its answer, and send it again under its key."""
    thread, message, key = await trial.service.new_thread(), trial.message(trial.slow), uuid.uuid4().hex
    waiting = await unanswered(trial, thread, message, key)
    waiting.cancel()
    await asyncio.wait({waiting})

    await expect_one(trial, thread, message, key)


async def stream_resumed(trial: Trial) -> None:
    """Read two pieces of a run's stream, close the connection, and read on with the last id."""
    run = await trial.service.start(await trial.service.new_thread(), trial.message(trial.slow))
    reader = Reader()
    await trial.stream(run, reader, pieces=2)
    before = reader.text
    await trial.stream(run, reader)
    end = await trial.end(run)

    expect(reader.text == end.text, f"broken after {before!r}: read {reader.text!r}, and the answer is {end.text!r}")


async def stream_again(trial: Trial) -> None:
    """Read a stream from its beginning when its run has ended, and then once more behind its last id."""
    run = await trial.service.start(await trial.service.new_thread(), trial.message(trial.slow))
    end, reader = await trial.end(run), Reader()
    await trial.stream(run, reader)
    read, pieces = reader.text, reader.pieces
    await trial.stream(run, reader)

    expect(read == end.text, f"read {read!r}, and the answer is {end.text!r}")
    expect(reader.pieces == pieces, f"behind the last id came {reader.pieces - pieces} pieces more")


async def order_kept(trial: Trial) -> None:
    """Start three runs behind a slow one, wait for all, and read the conversation."""
    thread, messages = await trial.service.new_thread(), [trial.message() for _ in range(3)]
    runs = [await trial.slow_run(thread), *[await trial.service.start(thread, message) for message in messages]]

    await expect_in_order(trial, thread, runs, messages)


async def cancel_running(trial: Trial) -> None:
    """Cancel a slow run while it runs."""
    run = await trial.slow_run(await trial.service.new_thread())
    await trial.service.cancel(run)
    end = await trial.end(run)

    expect(end.status == "cancelled", f"it ended as {end}")


async def cancel_queued(trial: Trial) -> None:
    """Cancel a run that waits behind a slow one, wait for the slow one, and read the conversation."""
    thread, message = await trial.service.new_thread(), trial.message()
    first = await trial.slow_run(thread)
    second = await trial.service.start(thread, message)
    await trial.service.cancel(second)
    ends = [await trial.end(second), await trial.end(first)]
    answered = [said for sent, said in await trial.turns(thread) if sent == message and said]

    expect([end.status for end in ends] == ["cancelled", "completed"], f"it ended as {ends[0]}, the slow as {ends[1]}")
    expect(answered == [], f"the conversation has an answer to it: {answered}")


async def cancel_ended(trial: Trial) -> None:
    """Cancel a run that has ended, whatever the service answers to that."""
    thread = await trial.service.new_thread()
    run, end = await trial.service.ask(thread, trial.message())
    turns = await trial.turns(thread)
    await tolerated(trial.service.cancel(run))

    expect(await trial.end(run) == end, f"it was {end}, and is {await trial.end(run)}")
    expect(await trial.turns(thread) == turns, f"the conversation was {turns}, and is {await trial.turns(thread)}")


async def delete_gone(trial: Trial) -> None:
    """Delete a thread, and read its conversation and its run."""
    thread = await trial.service.new_thread()
    run, _ = await trial.service.ask(thread, trial.message())
    await trial.service.delete(thread)

    await expect_hidden(trial.service, run)


async def delete_running(trial: Trial) -> None:
    """Delete a thread while its run runs, wait as long as such a run takes, and read the conversation."""
    run, other = [await trial.slow_run(await trial.service.new_thread()) for _ in range(2)]
    await trial.service.delete(run.thread)
    await trial.end(other)

    await expect_hidden(trial.service, run)


async def delete_again(trial: Trial) -> None:
    """Delete a thread twice, and begin one of the same name."""
    thread, message = await trial.service.new_thread(), trial.message()
    await trial.service.ask(thread, trial.message())
    await trial.service.delete(thread)
    try:
        await trial.service.delete(thread)
        await trial.service.ask(thread, message)
    except Refused as refusal:
        expect(refusal.status in AWAY, str(refusal))
    else:
        sent = [sent for sent, _ in await trial.turns(thread)]
        expect(sent == [message], f"after {message!r} the conversation has {sent}")


async def owners_read(trial: Trial) -> None:
    """Ask as one owner, and read the conversation and the run as the other."""
    mine, other = owners(trial)
    run, _ = await mine.ask(await mine.new_thread(), trial.message())

    await expect_hidden(other, run)


async def owners_change(trial: Trial) -> None:
    """Cancel a run and delete its thread as the other owner, whatever the service answers to that."""
    mine, other = owners(trial)
    run = await trial.slow_run(await mine.new_thread(), mine)
    await tolerated(other.cancel(run))
    await tolerated(other.delete(run.thread))
    end = await mine.end(run)

    expect(end.status == "completed", f"the run ended as {end}")
    expect(len(await mine.conversation(run.thread)) == 2, f"the thread has {await mine.conversation(run.thread)}")


async def state_version(trial: Trial) -> None:
    """Read the stored form of a thread."""
    thread = await trial.service.new_thread()
    await trial.service.ask(thread, trial.message())
    version = await trial.service.stored_version(thread)

    expect(re.search(r"\d", version) is not None, f"its version is {version!r}")


CHECKS = checks_of(
    ("key.again", "A request that is sent again under its key gets the first answer.", key_again),
    ("key.at-once", "Requests under one key at the same moment are one run.", key_at_once),
    ("key.reused", "A key that comes with another request is refused.", key_reused),
    (
        "key.broken",
        "A request that lost its connection is one run when it is sent again under its key.",
        key_broken,
    ),
    ("stream.resumed", "A stream that broke is resumed without loss and without doubling.", stream_resumed),
    ("stream.again", "The stream of an ended run can be read again, and ends where it ended.", stream_again),
    ("order.kept", "The runs of a thread come one after another, in the order of their requests.", order_kept),
    ("cancel.running", "A run that is cancelled while it runs ends as cancelled.", cancel_running),
    ("cancel.queued", "A run that is cancelled while it waits never starts.", cancel_queued),
    ("cancel.ended", "Cancelling an ended run changes nothing.", cancel_ended),
    ("delete.gone", "Of a deleted thread nothing can be read.", delete_gone),
    ("delete.running", "A run does not bring its deleted thread back.", delete_running),
    ("delete.again", "A thread can be deleted twice, and its name has nothing of it.", delete_again),
    ("owners.read", "No caller reads the thread of another owner.", owners_read),
    ("owners.change", "No caller changes the thread of another owner.", owners_change),
    ("state.version", "Stored state says its version.", state_version),
)
