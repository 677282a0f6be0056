"""What readers get of a thread: its log and its document as one, a page of its messages, and all that is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hosting.core.thread.events import Accepted, Completed, Event, RunEvent
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread.thread_events import Imported, Reset, Rewound, SessionWritten
from hosting.names import Address, StoreKey
from hosting.ports import ObjectStore
from state.attachments import Exchange
from state.models import Conversation


class ThreadView(Struct, frozen=True):
    """One thread at a moment: its head, its document as it is stored, and its runs that the log still has, the newest
    first.

    `conversation` is what the document reads as with the log after it, and `stored` where that changes nothing.
    `has_document`: the entity has stored one, or is about to. `written` are the sessions that no run left and that were
    not taken back, with their positions.
    """

    address: Address
    head: Head
    text: str | None
    stored: Conversation | None
    conversation: Conversation
    has_document: bool
    runs: tuple[Run, ...]
    written: tuple[tuple[int, SessionWritten], ...] = ()

    def session_after(self, run_ids: Collection[str | None], before: float) -> dict[str, Any] | None:
        """Return the session as the newest of these runs left it, or as it was written since, `before` that position.

        None where the log has neither.
        """
        answered = ((run, run.end) for run in self.runs if run.run_id in run_ids)
        left = next(((run.end_position, end.session) for run, end in answered if isinstance(end, Completed)), (0, None))
        written = [event.session for position, event in self.written if left[0] < position < before]
        return written[-1] if written else left[1]


class MessagesPage(Struct, frozen=True):
    """Entries of a conversation with their positions, and whether there are more in the direction asked for."""

    entries: list[tuple[int, Exchange]]
    has_more: bool


class NamedAttachments(Struct, frozen=True):
    """Large contents by the `names` that are their hashes, read one by one: together they may be any size.

    Of a fork some lie with the threads that lend it their entries, as these do. `unstored` are those that no store has
    yet, for the entity has still to come by.
    """

    names: frozenset[str]
    unstored: Mapping[str, bytes]
    attachments: ObjectStore
    places: tuple[StoreKey, ...]

    async def read(self, name: str) -> bytes | None:
        """Return the content, None where it is nowhere. Raises `AttachmentsUnavailableError`."""
        if name in self.unstored:
            return self.unstored[name]
        for place in self.places:
            if (content := (await self.attachments.read(place, {name})).get(name)) is not None:
                return content
        return None


class ThreadExport(Struct, frozen=True):
    """Everything that is kept about a thread: its view, its document with the archived entries in their place, or None
    where it has none, the large contents that it refers to, and what features keep, by members.
    `hidden` are these members for a reader to whom they are not shown."""

    view: ThreadView
    conversation: Conversation | None
    attachments: NamedAttachments
    kept: Mapping[str, Any]
    hidden: Mapping[str, Any]


def runs_of(address: Address, events: Sequence[tuple[int, Event]]) -> list[Run]:
    """Return the runs of these events of a thread, the newest first."""
    runs: dict[str, Run] = {}
    for position, event in events:
        if isinstance(event, Accepted):
            runs[event.run_id] = Run(address, event, position, position)
        elif not isinstance(event, RunEvent):
            runs = {name: run.after(position, event) for name, run in runs.items()}
        elif event.run_id in runs:
            runs[event.run_id] = runs[event.run_id].after(position, event)
    return list(reversed(runs.values()))


def written_sessions(events: Iterable[tuple[int, Event]]) -> tuple[tuple[int, SessionWritten], ...]:
    """Return the sessions that were written and still count, with their positions."""
    written: list[tuple[int, SessionWritten]] = []
    for position, event in events:
        match event:
            case SessionWritten():
                written.append((position, event))
            case Rewound():
                written = [earlier for earlier in written if earlier[0] < event.first]
            case Reset() | Imported():
                written = []
    return tuple(written)
