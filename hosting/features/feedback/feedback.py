"""Feedback of one app: given, taken back, read, and what follows from each change.

Theory. The record counts. What follows from a change is that it counts in the figures and that the agent's webhook is
notified of it: an operation of the entity, which the engine delivers until it is done. The operation takes ids alone,
reads the record as it is then, and makes the rest so. So it may come late, twice or out of order, and those of one run
come one at a time.

A change is noted first, then made, then signalled. A process that dies in between leaves the note. The person's own
repeat finds the record as it is, and signals again. Where nobody repeats it, the next change of the thread's feedback
signals for notes that are old, or the work of twice a day. The operation removes the note last.

Feedback is on a run that has ended, whatever it ended with, while the run counts: not on one before a reset, or one
that was replaced. From the reset on, nobody is shown what such a run had. The thread's entity has it removed before it
commits the document without the run, and so before the log may lose what says so. Whoever puts a record looks after
that whether the run still counts, as does the operation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hosting.core.hooks import ENTITY, key_of
from hosting.core.runs import Runs
from hosting.core.stores.stores import Stores
from hosting.core.thread.head import Head
from hosting.core.thread.run import Ended, Run
from hosting.core.thread.thread_events import Rewound
from hosting.core.thread_log import ThreadLog
from hosting.errors import InvalidFieldError, ThreadDeletedError, UnknownRunError
from hosting.features.feedback.figures import FeedbackMarks
from hosting.features.feedback.records import Author, Feedback, FeedbackKey, FeedbackRecords
from hosting.features.feedback.refusals import RunNotEndedError, RunTakenBackError
from hosting.features.feedback.telemetry import report_feedback
from hosting.http.verbs import NotifiesOfNews, RunNews
from hosting.names import Address, StoreKey, new_id, store_space
from hosting.ports import ClockClient, EntityClient
from hosting.principal import Caller, owner_of

APPLY = "feedback_apply"
"""The operation of the entity that makes the rest as the record is. Stored."""
NEWS = "feedback-"
"""How the names of news begin that receivers are sent; the id of a change follows."""
EVENT = "feedback.given"
NOTED_SECONDS = 60.0
"""A note that is older than this may have lost its signal."""


class Opinion(Struct, frozen=True):
    """The parts of feedback that a person sends."""

    score: float
    label: str | None
    comment: str | None


class FeedbackChange(Struct, frozen=True):
    """A change of a person's feedback, by the `id` that it gave the record, and the `day` on which that counts."""

    key: FeedbackKey
    id: str
    day: str

    def fields(self) -> dict[str, Any]:
        """Return it as messages and notes carry it."""
        return {**self.key.fields(), "id": self.id, "day": self.day}

    @classmethod
    def of(cls, fields: Any) -> FeedbackChange:
        """Return the change with these fields; raises `InvalidFieldError` for other values."""
        key = FeedbackKey.of(fields)
        match fields:
            case {"id": str(id_), "day": str(day)} if key is not None:
                return cls(key, id_, day)
        raise InvalidFieldError(f"The operation {APPLY!r} takes a change as `FeedbackChange` writes it.")


class Feedbacks:
    """The feedback of one app, for one event loop.

    Methods raise `AttachmentsUnavailableError` and `LogUnavailableError`, and those with a client
    `EngineUnavailableError`.
    """

    def __init__(self, log: ThreadLog, stores: Stores, runs: Runs, news: NotifiesOfNews | None = None) -> None:
        """`news` notifies agents' webhooks; None for an app that sends none."""
        self._log = log
        self._runs = runs
        self._records = FeedbackRecords(stores.attachments, stores.hub)
        self._figures = FeedbackMarks(stores.attachments, stores.hub)
        self._attachments = stores.attachments
        self._notes = store_space(stores.hub, "feedback-noted")
        self._news = news

    async def give(self, address: Address, run_id: str, opinion: Opinion, caller: Caller) -> tuple[Feedback, bool]:
        """Store the caller's feedback on a run, replacing an earlier one; return it, and whether it is the first.

        Raises `RunNotEndedError`, `RunTakenBackError`, and as `Runs.find` does.
        """
        run = await self._run(address, run_id, caller.client)
        key = FeedbackKey(address, run.epoch, run.run_id, owner_of(caller.principal))
        before, now = await self._records.read(key), self._log.clocks.wall()
        given = Feedback(
            id=new_id(),
            run_id=run.run_id,
            author=key.author,
            by=_author(caller),
            first=run.first,
            score=opinion.score,
            label=opinion.label,
            comment=opinion.comment,
            at=now if before is None else before.at,
            changed_at=now,
        )
        if before is not None and before.says(given):
            given = before
        change = FeedbackChange(key, given.id, given.day)
        await self._note(change)
        if given is not before:
            await self._records.put(key, given)
            await self._check_counts(change, run.first)
            report_feedback(run, given)
        await self._signal(change, caller.client)
        return given, before is None

    async def take_back(self, address: Address, run_id: str, caller: Caller) -> None:
        """Remove the caller's feedback on a run, which the log may have forgotten; again changes nothing.

        Without any it raises as `Runs.find` does. Where the log has forgotten runs, an unknown one may have been there.
        """
        head = await self._log.head(address)
        key = FeedbackKey(address, head.epoch, run_id, owner_of(caller.principal))
        if head.state != "open" or await self._records.read(key) is None:
            try:
                await self._runs.find(address, run_id, caller.client)
            except UnknownRunError:
                if head.state != "open" or not head.trimmed:
                    raise
        await self._remove(key, caller.client)

    async def of_run(self, address: Address, run_id: str, caller: Caller) -> list[Feedback]:
        """Return what the caller may see of a run's: all for the owner, one's own by a grant. Raises as `Runs.find`."""
        run = await self._runs.find(address, run_id, caller.client)
        return _seen_by(caller, await self._counting(address, run.epoch, run.run_id))

    async def of_thread(self, address: Address, caller: Caller) -> list[Feedback]:
        """Return what the caller may see of all runs of a thread."""
        head = await self._log.head(address)
        return _seen_by(caller, await self._counting(address, head.epoch) if head.state == "open" else [])

    async def exported(self, address: Address, epoch: int) -> list[Feedback]:
        """Return all of that life of a thread."""
        return await self._counting(address, epoch)

    async def given_by(self, caller: Caller) -> list[tuple[FeedbackKey, Feedback]]:
        """Return what the caller gave on threads of others."""
        keys = await self._records.given_by(caller.owner)
        records = [(key, await self._records.read(key)) for key in keys]
        return [(key, record) for key, record in records if record is not None]

    async def erase_given(self, caller: Caller) -> None:
        """Remove what the caller gave on threads of others, with what follows from it."""
        for key in await self._records.given_by(caller.owner):
            await self._remove(key, caller.client)

    async def erase_thread(self, address: Address, epoch: int) -> None:
        """Remove what stands elsewhere of that life of a thread: its records go with it."""
        records = await self._records.of_thread(address, epoch)
        await self._figures.erase_thread(address, epoch, {record.day for record in records})
        for record in records:
            await self._records.unlist(FeedbackKey(address, epoch, record.run_id, record.author))
        await self._attachments.erase(self._notes_of(address, epoch))

    async def drop_uncounted(self, address: Address, epoch: int) -> None:
        """Remove all on runs of that life of a thread that count no more; again changes nothing."""
        records = await self._records.of_thread(address, epoch)
        gone = await self._taken_back(address, epoch, [record.first for record in records])
        for record in records:
            if record.first in gone:
                await self._drop(FeedbackKey(address, epoch, record.run_id, record.author), record.day)

    async def apply(self, fields: Any) -> FeedbackChange:
        """Make the figures as the record is now; return the change. Raises `InvalidFieldError` for other fields."""
        change = FeedbackChange.of(fields)
        key, record = change.key, await self._records.read(change.key)
        counts = record is not None and await self._counts(key, record.first)
        await self._figures.count(key, change.day, record if counts else None)
        if record is not None and not (counts and await self._counts(key, record.first)):
            await self._drop(key, change.day)
        return change

    async def carry_out(self, fields: Any, client: ClockClient) -> None:
        """Carry out what follows from a change, and remove its note."""
        change = await self.apply(fields)
        if self._news is not None and await self._of_change(change.key, change.id) is not None:
            await self._news.notify_of(change.key.address, change.key.run_id, NEWS + change.id, client)
        notes = self._notes_of(change.key.address, change.key.epoch)
        noted = await self._attachments.names(notes)
        await self._forget(change)
        if noted.get(change.id, 0.0) > self._lost_before:  # one that was itself signalled again signals for no others
            await self._signal_noted(notes, noted, client)

    async def news_of(self, run: Run, name: str) -> RunNews | None:
        """Return what a receiver is sent of a change: no comment. None where there was another one since."""
        records = await self._records.of_thread(run.address, run.epoch, run.run_id)
        record = next((record for record in records if NEWS + record.id == name), None)
        if record is None:
            return None
        by = {} if record.by is None else {"by": {"issuer": record.by.issuer, "id": record.by.id}}
        return RunNews(EVENT, record.changed_at, {"score": record.score, "label": record.label, **by})

    async def repair(self, client: EntityClient) -> None:
        """Signal again for changes whose signal may be lost."""
        for _, name in await self._attachments.put_between(self._notes, 0.0, self._lost_before):
            notes = StoreKey(self._notes, name)
            await self._signal_noted(notes, await self._attachments.names(notes), client)

    @property
    def _lost_before(self) -> float:
        return self._log.clocks.wall() - NOTED_SECONDS

    async def _signal_noted(self, notes: StoreKey, noted: Mapping[str, float], client: EntityClient) -> None:
        """Signal again for those of a thread's notes that are old."""
        old = [name for name, put_at in noted.items() if put_at < self._lost_before]
        for note in (await self._attachments.read(notes, old)).values() if old else ():
            await self._signal(FeedbackChange.of(json.loads(note)), client)

    async def _run(self, address: Address, run_id: str, client: EntityClient) -> Run:
        run = await self._runs.find(address, run_id, client)
        if not isinstance(run.state, Ended):
            raise RunNotEndedError(f"Run {run_id!r} has not ended. Give feedback on its answer when it has one.")
        if run.first in await self._taken_back(address, run.epoch, [run.first]):
            raise _taken_back(run_id)
        return run

    async def _counting(self, address: Address, epoch: int, run_id: str | None = None) -> list[Feedback]:
        """Return the feedback on runs that count."""
        records = await self._records.of_thread(address, epoch, run_id)
        gone = await self._taken_back(address, epoch, [record.first for record in records])
        return [record for record in records if record.first not in gone]

    async def _taken_back(self, address: Address, epoch: int, firsts: Sequence[int]) -> set[int]:
        """Return which of the runs that begin there no longer count."""
        if not firsts:
            return set()
        head, earliest = await self._log.head(address), min(firsts)
        if not _is_alive(head, epoch):
            return set(firsts)
        is_rewound = head.rewound_at > earliest
        events = await self._log.events(address, max(earliest, head.trimmed), head) if is_rewound else ()
        rewinds = [(at, event.first) for at, event in events if isinstance(event, Rewound)]
        return {first for first in firsts if first < head.reset_at or any(since <= first < at for at, since in rewinds)}

    async def _counts(self, key: FeedbackKey, first: int) -> bool:
        """Return whether the thread is there and the run, which began at that position, counts."""
        return first not in await self._taken_back(key.address, key.epoch, [first])

    async def _check_counts(self, change: FeedbackChange, first: int) -> None:
        """Remove what was put, and raise, if the run counts no more: `ThreadDeletedError` or `RunTakenBackError`."""
        key = change.key
        if await self._counts(key, first):
            return
        await self._drop(key, change.day)
        await self._forget(change)
        if not _is_alive(await self._log.head(key.address), key.epoch):
            raise ThreadDeletedError(f"Thread {key.address.thread_id[:80]!r} was deleted.")
        raise _taken_back(key.run_id)

    async def _drop(self, key: FeedbackKey, day: str) -> None:
        """Remove a record that counts no more: it goes last, and is found again after a crash."""
        await self._figures.count(key, day, None)
        await self._records.unlist(key)
        await self._records.erase(key)

    async def _remove(self, key: FeedbackKey, client: EntityClient) -> None:
        """Remove a person's feedback, and have the rest follow."""
        record = await self._records.read(key)
        if record is None:
            await self._records.unlist(key)
            return
        change = FeedbackChange(key, new_id(), record.day)  # an operation for what was given removes no note of this
        await self._note(change)
        await self._records.erase(key)
        await self._signal(change, client)

    async def _of_change(self, key: FeedbackKey, id_: str) -> Feedback | None:
        record = await self._records.read(key)
        return record if record is not None and record.id == id_ else None

    async def _note(self, change: FeedbackChange) -> None:
        store_key = self._notes_of(change.key.address, change.key.epoch)
        await self._attachments.put(store_key, {change.id: json.dumps(change.fields()).encode()})

    async def _forget(self, change: FeedbackChange) -> None:
        store_key = self._notes_of(change.key.address, change.key.epoch)
        await self._attachments.erase(store_key, [change.id])

    async def _signal(self, change: FeedbackChange, client: EntityClient) -> None:
        await client.signal(ENTITY, f"{APPLY}-{key_of(change.key.run_id)}", APPLY, change.fields())

    def _notes_of(self, address: Address, epoch: int) -> StoreKey:
        return StoreKey(self._notes, f"{address.key}/{epoch}")


class FeedbackRepair:
    """Signals again, twice a day, for changes whose signal may be lost."""

    def __init__(self, feedbacks: Feedbacks) -> None:
        self._feedbacks = feedbacks

    async def run(self, client: ClockClient) -> None:
        """Do it once. Raises as `Feedbacks.repair` does."""
        await self._feedbacks.repair(client)


def _is_alive(head: Head, epoch: int) -> bool:
    return head.state == "open" and head.epoch == epoch


def _taken_back(run_id: str) -> RunTakenBackError:
    return RunTakenBackError(f"Run {run_id!r} no longer counts: the conversation was reset, or the run was replaced.")


def _author(caller: Caller) -> Author | None:
    principal = caller.principal
    return None if principal is None else Author(issuer=principal.issuer, id=principal.id, name=principal.name)


def _seen_by(caller: Caller, records: Iterable[Feedback]) -> list[Feedback]:
    """Return those that the caller may see: with a grant no other person's."""
    own = owner_of(caller.principal)
    return [record for record in records if caller.grant is None or record.author == own]
