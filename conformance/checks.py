"""The promises that can be tried on a service that stays up."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from conformance.port import End, NotOffered, Refused, Run, Service
from conformance.trial import Broken, Check, NotTried, Reader, Trial

AT_ONCE = 5
AWAY = (401, 403, 404, 410)


def expect(is_so: bool, otherwise: str) -> None:
    """Raise Broken with the evidence if it is not so."""
    if not is_so:
        raise Broken(otherwise)


async def key_again(trial: Trial) -> None:
    """Ask, ask again with the same key and message, and read the conversation."""
    thread, message, key = await trial.service.new_thread(), trial.message(), uuid.uuid4().hex
    first, second = [await trial.service.ask(thread, message, key) for _ in range(2)]

    expect(first == second, f"first {first}, then {second}")
    await _expect_once(trial, thread, message)


async def key_at_once(trial: Trial) -> None:
    """Send one message under one key five times at the same moment, and read the conversation."""
    thread, message, key = await trial.service.new_thread(), trial.message(), uuid.uuid4().hex
    answers = await asyncio.gather(*(trial.service.ask(thread, message, key) for _ in range(AT_ONCE)))

    expect(len(set(answers)) == 1, f"{len(set(answers))} answers: {sorted(set(answers), key=str)}")
    await _expect_once(trial, thread, message)


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


async def unanswered(trial: Trial, thread: str, message: str, key: str) -> asyncio.Future[tuple[Run, End]]:
    """Return a request that waits for the answer of a slow run."""
    waiting = asyncio.ensure_future(trial.service.ask(thread, message, key))
    await asyncio.wait({waiting}, timeout=2 * trial.open_seconds)
    if waiting.done():
        raise NotTried(f"the run of --slow ended too soon: {waiting.result()}")
    return waiting


async def expect_one(trial: Trial, thread: str, message: str, key: str) -> None:
    """Send a request whose first try got no answer twice more: both have one answer, and the conversation has it."""
    first, second = [await trial.service.ask(thread, message, key) for _ in range(2)]

    expect(first == second, f"sent again it is {first}, and then {second}")
    expect(first[1].status == "completed", f"the run ended as {first[1]}")
    await _expect_once(trial, thread, message)


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


async def expect_in_order(trial: Trial, thread: str, runs: list[Run], messages: list[str]) -> None:
    """Wait for a slow run and those behind it: the conversation has each once, with its answer, in their order."""
    ends = [await trial.end(run) for run in runs]
    turns = await trial.turns(thread)

    expect({end.status for end in ends} == {"completed"}, f"the runs ended as {[end.status for end in ends]}")
    expect([sent for sent, _ in turns][1:] == messages, f"sent {messages}, and the conversation has {turns}")
    expect([said for _, said in turns] == [end.text for end in ends], f"the answers are {ends}, there are {turns}")


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
    await _tolerated(trial.service.cancel(run))

    expect(await trial.end(run) == end, f"it was {end}, and is {await trial.end(run)}")
    expect(await trial.turns(thread) == turns, f"the conversation was {turns}, and is {await trial.turns(thread)}")


async def approval_once(trial: Trial) -> None:
    """Approve and refuse one call at once, send the second decision once more later, and read the conversation."""
    thread = await trial.service.new_thread()
    approval = await trial.waiting(thread)

    await _expect_answered_once(trial, thread, lambda is_first: trial.service.decide(thread, approval, is_first))


async def ask_once(trial: Trial) -> None:
    """Give a tool's question two answers at once, the second once more later, and read the conversation."""
    thread = await trial.service.new_thread()
    question = await trial.asked(thread)

    await _expect_answered_once(
        trial, thread, lambda is_first: trial.service.answer(thread, question, "here" if is_first else "there")
    )


async def ask_schema(trial: Trial) -> None:
    """Answer a tool's question, which takes a text, by a number, and then by a text."""
    thread = await trial.service.new_thread()
    if type(trial.service).pending is Service.pending:
        await trial.service.pending(thread, "")  # not offered: nobody can tell which answer is wrong
    question = await trial.asked(thread)
    schema = (await trial.service.pending(thread, question)).answer_schema
    if not isinstance(schema, Mapping) or schema.get("type") != "string":
        raise NotTried(f"the question of --ask takes an answer of the schema {schema}: give one that takes a text")
    try:
        run = await trial.service.answer(thread, question, 7)
    except Refused as refusal:
        expect(refusal.status < 500, str(refusal))
    else:
        raise Broken(f"a number was taken for a text, and the run ended as {await trial.end(run)}")
    end = await trial.end(await trial.service.answer(thread, question, "here"))

    expect(end.status == "completed", f"the run that went on ended as {end}")


async def edit_once(trial: Trial) -> None:
    """Approve one call with two texts at once, and look for them in the answer of the run that goes on."""
    thread, texts = await trial.service.new_thread(), [uuid.uuid4().hex for _ in range(2)]
    approval, with_text = await trial.editable(thread)
    decisions = (trial.service.decide_with(thread, approval, with_text(text)) for text in texts)
    answers = await asyncio.gather(*decisions, return_exceptions=True)
    taken = [(run, text) for run, text in zip(answers, texts, strict=True) if isinstance(run, Run)]
    expect(len(taken) == 1, f"{len(taken)} of 2 decisions were taken: {answers}")

    await expect_edited(trial, *taken[0])


async def expect_edited(trial: Trial, run: Run, text: str) -> None:
    """Wait for a run that makes a call with a person's text: its answer says it."""
    end = await trial.end(run)
    expect(end.status == "completed", f"the run that went on ended as {end}")
    expect(text in end.text, f"the call was approved with {text!r}, and the answer is {end.text!r}")


async def steer_once(trial: Trial) -> None:
    """Send a message that is to join a run at work, wait for both, and read the conversation."""
    if type(trial.service).steer is Service.steer:
        await trial.service.steer("", "")  # not offered, whatever a slow run is
    thread, first, word = await trial.service.new_thread(), trial.message(trial.work or trial.slow), trial.message()
    run = await trial.slow_run(thread, message=first)
    ends = [await trial.end(each) for each in (run, await trial.service.steer(thread, word))]
    sent = "".join(entry.text for entry in await trial.service.conversation(thread) if entry.by == "user")

    expect({end.status for end in ends} == {"completed"}, f"the run ended as {ends[0]}, the message's as {ends[1]}")
    expect(sent == f"{first}{word}", f"sent {first!r} and {word!r}, and the conversation has {sent!r}")


async def client_tool_once(trial: Trial) -> None:
    """Give a call of the caller's tool two results at once, the second once more later, and read the conversation."""
    thread = await trial.service.new_thread()
    call = await trial.called(thread)

    await _expect_answered_once(
        trial, thread, lambda is_first: trial.service.give(thread, call, "here" if is_first else "there")
    )


async def _expect_answered_once(trial: Trial, thread: str, answer: Callable[[bool], Awaitable[Run]]) -> None:
    """Give two answers to one call at once: one is taken, and the other neither then nor later."""
    answers = await asyncio.gather(answer(True), answer(False), return_exceptions=True)
    taken = [given for given in answers if isinstance(given, Run)]
    expect(len(taken) == 1, f"{len(taken)} of 2 answers were taken: {answers}")
    end = await trial.end(taken[0])
    expect(end.status == "completed", f"the run that went on ended as {end}")
    turns = await _readable_turns(trial, thread)
    try:
        late = await answer(answers[0] is not taken[0])
        await trial.end(late)
    except Refused as refusal:
        expect(refusal.status < 500, str(refusal))
        if turns is None:
            return
    later = await trial.turns(thread)

    expect(later == turns, f"a second answer, later, made {turns} {later}")


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
    mine, other = _owners(trial)
    run, _ = await mine.ask(await mine.new_thread(), trial.message())

    await expect_hidden(other, run)


async def owners_change(trial: Trial) -> None:
    """Cancel a run and delete its thread as the other owner, whatever the service answers to that."""
    mine, other = _owners(trial)
    run = await trial.slow_run(await mine.new_thread(), mine)
    await _tolerated(other.cancel(run))
    await _tolerated(other.delete(run.thread))
    end = await mine.end(run)

    expect(end.status == "completed", f"the run ended as {end}")
    expect(len(await mine.conversation(run.thread)) == 2, f"the thread has {await mine.conversation(run.thread)}")


async def state_version(trial: Trial) -> None:
    """Read the stored form of a thread."""
    thread = await trial.service.new_thread()
    await trial.service.ask(thread, trial.message())
    version = await trial.service.stored_version(thread)

    expect(re.search(r"\d", version) is not None, f"its version is {version!r}")


async def expect_hidden(service: Service, run: Run) -> None:
    """Neither the thread's conversation nor the run is there, for this caller."""
    try:
        entries = await service.conversation(run.thread)
        expect(entries == [], f"its conversation has {entries}")
    except Refused as refusal:
        expect(refusal.status in AWAY, str(refusal))
    try:
        end: End = await service.end(run)
        raise Broken(f"the run is there: {end}")
    except NotOffered:
        pass  # nobody reads a run there
    except Refused as refusal:
        expect(refusal.status in AWAY, str(refusal))


async def _tolerated(request: Awaitable[None]) -> None:
    try:
        await request
    except Refused as refusal:
        expect(refusal.status < 500, str(refusal))


async def _readable_turns(trial: Trial, thread: str) -> list[tuple[str, str]] | None:
    """Return a conversation, or nothing where the service has no way to read one."""
    with suppress(NotOffered):
        return await trial.turns(thread)
    return None


async def _expect_once(trial: Trial, thread: str, message: str) -> None:
    turns = await trial.turns(thread)
    expect([sent for sent, _ in turns] == [message], f"the conversation has {turns}")


def _owners(trial: Trial) -> tuple[Service, Service]:
    first, second = (trial.service.as_owner(headers) for headers in trial.owners or ({}, {}))
    if not trial.owners:
        raise NotTried("no two --owner HEADERS, one for each of two callers")
    return first, second


CHECKS = tuple(
    Check(name, promise, " ".join((run.__doc__ or "").split()), run)
    for name, promise, run in (
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
        ("approval.once", "A tool call that waits for a person is decided once.", approval_once),
        ("ask.once", "A tool's question to a person takes one answer.", ask_once),
        (
            "ask.schema",
            "An answer that a tool's question does not take is refused, and the question waits on.",
            ask_schema,
        ),
        ("approval.edited", "A tool call is made with the arguments that a person approved first.", edit_once),
        ("steer.once", "A message that is to join the run at work is given once.", steer_once),
        ("client-tool.once", "A call of a tool that the caller runs takes one result.", client_tool_once),
        ("delete.gone", "Of a deleted thread nothing can be read.", delete_gone),
        ("delete.running", "A run does not bring its deleted thread back.", delete_running),
        ("delete.again", "A thread can be deleted twice, and its name has nothing of it.", delete_again),
        ("owners.read", "No caller reads the thread of another owner.", owners_read),
        ("owners.change", "No caller changes the thread of another owner.", owners_change),
        ("state.version", "Stored state says its version.", state_version),
    )
)
