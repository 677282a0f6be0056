"""What commands made of a thread, and the conversation that each reader of it has."""

from __future__ import annotations

from hosting.core.thread.commands import Command
from hosting.core.thread.conversation import Snapshot, resume
from hosting.core.thread.events import Event
from hosting.core.thread.head import NEW, fold
from hosting.core.thread.run import Run, fold_run
from hosting.names import Address
from state.codec import read, write
from state.conversation import exchanges
from state.models import Conversation
from tests.support.state_documents import history_messages
from tests.support.threads import Thread, accept, answered

ADDRESS = Address.of("Helper", "t1")


def after(*commands: Command) -> Thread:
    """Return a thread on which these commands were decided, one after the other."""
    thread = Thread()
    for command in commands:
        thread.do(command)
    return thread


def spoken(*runs: str) -> Thread:
    """Return a thread in which these runs answered."""
    thread = Thread()
    for run_id in runs:
        thread.do(accept(run_id, claimed=True))
        thread.do(answered(run_id, f"{run_id} says"))
    return thread


def numbered(thread: Thread) -> list[tuple[int, Event]]:
    """Return the thread's events with their positions."""
    return list(enumerate(thread.events, start=1))


def run_of(thread: Thread, run_id: str = "r1") -> Run:
    """Return a run as the thread's events tell it."""
    run = fold_run(ADDRESS, run_id, numbered(thread))
    assert run is not None
    return run


def conversation_of(thread: Thread, stored: Conversation | None = None) -> Conversation:
    """Return the conversation that a document and the log behind it make."""
    begun = resume(stored, thread.head)
    assert isinstance(begun, Snapshot)
    return begun.apply(numbered(thread)[begun.since :]).conversation


def stored(thread: Thread, count: int | None = None) -> Conversation:
    """Return the document that the entity stored behind so many events, or stores now, as it is read again."""
    events = numbered(thread)[:count]
    head = fold(NEW, [event for _, event in events])
    begun = resume(None, head)
    assert isinstance(begun, Snapshot)
    return read(write(begun.apply(events).document(head.epoch)))


def conversations(thread: Thread) -> list[Conversation]:
    """Return the conversation as each reader has it, whatever document the entity stored before, or none."""
    documents = [stored(thread, count) for count in range(1, len(thread.events) + 1)]
    return [conversation_of(thread, document) for document in (None, *documents)]


def texts(thread: Thread) -> list[str]:
    """Return what a model gets of the conversation, the same for each reader."""
    first, *others = [
        [message.text for message in history_messages(conversation)] for conversation in conversations(thread)
    ]
    assert all(other == first for other in others)
    return first


def runs_of(conversation: Conversation) -> list[str]:
    """Return the runs of whose requests and answers the conversation is made, in order."""
    return [entry.correlation_id for entry in exchanges(conversation)]
