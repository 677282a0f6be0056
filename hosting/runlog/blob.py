"""The run log in Azure append blobs: the default on Azure, in the storage account that the app already has.

Theory. A run is one append blob. Its first event is the blob's metadata, so that creating the blob, if there is none,
is the whole opening; every later step is one block of JSON lines, appended only at the version that this process knows,
so that the storage itself compares. A turn is thus three calls in the process that opened it: open, claim, end.

A second call at the opening writes an index entry by thread, where the run's id does not begin with its thread's digest
or its request is too large for metadata (the entry then holds it); it comes first, so that no run is missed when its
thread is deleted. A receipt also comes first, and names the run that a repeated request opens.

Exact: who opens, who appends, what is read, what is erased. Not exact, because it would cost a call for each run: the
bound on a thread's open runs holds for each process, and a thread that another process marked for deletion still takes
runs until it is erased, which erases them too; so does a thread that is erased only unless a run is open, between the
look and the erasure. A refused run leaves its receipt, under which it may be opened later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from hosting.errors import LogUnavailableError
from hosting.events import TERMINAL_KINDS, Accepted, CancelRequested, Event, Place, decode, encode
from hosting.identity import place_digest
from hosting.ports import Deleting, Deletion, Erased, Found, Opened, Opening, QueueFull
from hosting.run_record import RunRecord, fold
from hosting.runlog import blob_names as names
from hosting.runlog.blob_knowledge import Knowledge, Known
from hosting.runlog.marks import decode_mark, encode_mark
from hosting.storage.blob_account import Connect
from hosting.storage.blob_container import PATIENCE_SECONDS, Blob, BlobContainer

CONTAINER = "agent-run-logs"
MOST_BLOCKS = 49_000
"""Of the 50,000 that an append blob takes; the rest is kept for the events that end a run."""


def run_log_container(
    connect: Connect, name: str = CONTAINER, patience_seconds: float = PATIENCE_SECONDS
) -> BlobContainer:
    """Return the container for run logs, which says of itself that the run log cannot be reached."""
    return BlobContainer(connect, name, LogUnavailableError.unreached, patience_seconds)


@dataclass(frozen=True)
class _Log:
    """A run's log as it was read: the record, the events, and the lines behind the first of them."""

    record: RunRecord
    events: tuple[Event, ...]
    lines: tuple[bytes, ...]


class BlobStore:
    """A `RunLogStore` in a blob container; of one run it takes at most `most_blocks` appends that do not end it."""

    batch_seconds = 0.5

    def __init__(self, container: BlobContainer, most_blocks: int = MOST_BLOCKS) -> None:
        self._blobs = container
        self._most_blocks = most_blocks
        self._knowledge = Knowledge()

    async def open(self, accepted: Accepted, receipt: str | None = None, most_open: int | None = None) -> Opening:
        """See `RunLogStore.open`: one call, one more for a receipt, one more for an index entry."""
        if receipt is not None:
            accepted, is_new = await self._by_receipt(accepted, receipt)
            existing = None if is_new else await self.read(accepted.run_id)
            if existing is not None:
                return existing if isinstance(existing, Erased) else Found(existing)
        refused = await self._refusal(accepted.place, most_open)
        if refused is None:
            return await self._create(accepted)
        existing = await self.read(accepted.run_id)
        return _found(existing) or refused

    async def append(self, run_id: str, *events: Event, after: int) -> bool:
        """See `RunLogStore.append`: one call. An append whose answer was lost is recognised when it is repeated."""
        lines = tuple(encode(event) for event in events)
        known = self._knowledge.of(run_id)
        log = None
        if known is None or known.position != after:
            log = await self._load(run_id)
            known = self._knowledge.of(run_id) if isinstance(log, _Log) else None
        if known is not None and known.position == after and after > 0:
            if await self._append(run_id, known, events, lines):
                return True
            log = await self._load(run_id)
        return isinstance(log, _Log) and bool(lines) and log.lines[after - 1 : after - 1 + len(lines)] == lines

    async def read(self, run_id: str) -> RunRecord | Erased | None:
        """See `RunLogStore.read`: one call, two for a run that is claimed and not known to be."""
        log = await self._load(run_id)
        return log.record if isinstance(log, _Log) else log

    async def events(self, run_id: str, after: int) -> tuple[Event, ...] | Erased | None:
        """See `RunLogStore.events`: one call for what is new behind what this process has read, else as `read`."""
        length = self._knowledge.length_at(run_id, after)
        more = None if length is None else await self._blobs.read_from(names.run_name(run_id), length)
        if length is None or more is None:
            log = await self._load(run_id)
            return log.events[after:] if isinstance(log, _Log) else log
        whole = more[: more.rfind(b"\n") + 1]
        events = tuple(map(decode, whole.splitlines()))
        self._knowledge.read_up_to(run_id, after + len(events), length + len(whole))
        return events

    async def cancel_requests(self, run_ids: Collection[str]) -> frozenset[str]:
        """See `RunLogStore.cancel_requests`: one listing. A wish may be seen just before it is in the run's log."""
        wished = await self._blobs.list(names.cancel_name(""))
        return frozenset(run_id for run_id in run_ids if names.cancel_name(run_id) in wished)

    async def runs_of(self, place: Place, limit: int) -> list[RunRecord]:
        """See `RunLogStore.runs_of`: two listings and the reading of the newest."""
        found = await self._index(place)
        newest = sorted(found, key=lambda run_id: (found[run_id], run_id), reverse=True)[:limit]
        records = await asyncio.gather(*(self.read(run_id) for run_id in newest))
        return [record for record in records if isinstance(record, RunRecord)]

    async def mark_deleting(self, place: Place, deletion_id: str) -> Deletion:
        """See `RunLogStore.mark_deleting`."""
        self._knowledge.deleting.add(place)
        mark, name = Deletion(deletion_id), names.mark_name(place)
        stands = None if await self._blobs.put(name, encode_mark(mark).encode()) else await self._blobs.read(name)
        while stands is not None:
            earlier = decode_mark(stands.body)
            if earlier.digest is None:
                return earlier
            is_replaced = await self._blobs.put(name, encode_mark(mark).encode(), at=stands.version.etag)
            stands = None if is_replaced else await self._blobs.read(name)
        return mark

    async def deletion(self, place: Place) -> Deletion | None:
        """See `RunLogStore.deletion`."""
        mark = await self._blobs.read(names.mark_name(place))
        return None if mark is None else decode_mark(mark.body)

    async def erase(self, place: Place, deletion: Deletion, *, unless_open: bool = False) -> Deletion | None:
        """See `RunLogStore.erase`: run by run, the mark last, so that what was broken off is done again.

        Where the account keeps versions or deleted blobs, it keeps them for as long as its policy says.
        """
        found = await self._index(place)
        if unless_open and await self._has_open(found):
            return None
        await asyncio.gather(*(self._erase_run(place, run_id) for run_id in found))
        mark = replace(deletion, runs=len(found))
        await self._blobs.put_anyway(names.mark_name(place), encode_mark(mark).encode())
        self._knowledge.deleting.discard(place)
        return mark

    async def settle(self, place: Place, deletion: Deletion) -> None:
        """See `RunLogStore.settle`."""
        name = names.mark_name(place)
        stands = await self._blobs.read(name)
        if stands is not None and decode_mark(stands.body).id == deletion.id:
            await self._blobs.put(name, encode_mark(deletion).encode(), at=stands.version.etag)

    async def expire(self, before: float, limit: int) -> int:
        """See `RunLogStore.expire`: a listing of all logs, and up to five calls for each that is removed."""
        expired = 0
        for name, metadata in (await self._blobs.list(names.run_name(""))).items():
            if expired >= limit:
                break
            if names.may_be_older(metadata, before):
                expired += await self._expire_run(name.removeprefix(names.run_name("")), before)
        return expired

    async def _expire_run(self, run_id: str, before: float) -> bool:
        record = await self.read(run_id)
        if not isinstance(record, RunRecord) or record.terminal is None or record.accepted.at >= before:
            return False
        await self._erase_run(record.accepted.place, run_id)
        return True

    async def close(self) -> None:
        """See `RunLogStore.close`."""
        await self._blobs.close()

    async def _by_receipt(self, accepted: Accepted, receipt: str) -> tuple[Accepted, bool]:
        name = names.receipt_name(receipt)
        if await self._blobs.put(name, accepted.run_id.encode()):
            return accepted, True
        held = await self._blobs.read(name)
        run_id = held.body.decode() if held else accepted.run_id
        return accepted.model_copy(update={"run_id": run_id}), False

    async def _refusal(self, place: Place, most_open: int | None) -> Deleting | QueueFull | None:
        if place in self._knowledge.deleting:
            mark = await self.deletion(place)
            if mark is not None and mark.digest is None:
                return Deleting()
            self._knowledge.deleting.discard(place)
        if most_open is None or len(self._knowledge.open_runs(place)) < most_open:
            return None
        await asyncio.gather(*(self._look_for_end(place, run_id) for run_id in self._knowledge.open_runs(place)))
        open_runs = len(self._knowledge.open_runs(place))
        return QueueFull(open_runs) if open_runs >= most_open else None

    async def _look_for_end(self, place: Place, run_id: str) -> None:
        """A run that is not there is about to be: it counts before it is written."""
        record = await self.read(run_id)
        if isinstance(record, Erased) or (record is not None and record.terminal is not None):
            self._knowledge.ended(run_id, place)

    async def _create(self, accepted: Accepted) -> Opening:
        run_id, place = accepted.run_id, accepted.place
        counted = run_id in self._knowledge.open_runs(place)
        self._knowledge.opening(run_id, place)
        try:
            packed = names.pack(accepted)
            metadata = {"accepted": packed} if packed else {"thread": names.thread_prefix(place)}
            if packed is None or not names.is_indexed_by_id(run_id, place):
                await self._enter(accepted, holds_event=packed is None)
            version = await self._blobs.create_log(names.run_name(run_id), metadata)
        except BaseException:  # a caller that went away, too: nothing would ever count the run down
            self._knowledge.ended(run_id, place)
            raise
        if version is not None:
            self._knowledge.saw(run_id, Known(1, version, place), is_ended=False)
            return Opened(RunRecord(accepted=accepted, signalled_at=accepted.at))
        if not counted:
            self._knowledge.ended(run_id, place)
        found = _found(await self.read(run_id))
        if found is None:
            raise LogUnavailableError(f"Run {run_id!r} cannot be read. Try again.")
        return found

    async def _enter(self, accepted: Accepted, *, holds_event: bool) -> None:
        name = names.thread_prefix(accepted.place) + accepted.run_id
        await self._blobs.put(name, encode(accepted) if holds_event else b"", {"at": repr(accepted.at)})

    async def _append(self, run_id: str, known: Known, events: tuple[Event, ...], lines: tuple[bytes, ...]) -> bool:
        is_ended = any(event.kind in TERMINAL_KINDS for event in events)
        is_to_cancel = any(isinstance(event, CancelRequested) for event in events)
        if known.version.blocks >= self._most_blocks and not is_ended:
            raise LogUnavailableError(f"The log of run {run_id!r} is full: {known.version.blocks} appends.")
        if is_to_cancel:
            await self._blobs.put(names.cancel_name(run_id), b"")
        version = await self._blobs.append(
            names.run_name(run_id), b"".join(line + b"\n" for line in lines), known.version
        )
        if version is None:
            self._knowledge.forget(run_id)
            return False
        was_to_cancel = known.is_to_cancel or is_to_cancel
        moved = Known(known.position + len(lines), version, known.place, was_to_cancel)
        self._knowledge.saw(run_id, moved, is_ended=is_ended)
        if is_ended and was_to_cancel:
            await self._blobs.delete(names.cancel_name(run_id))
        return True

    async def _load(self, run_id: str) -> _Log | Erased | None:
        known = self._knowledge.of(run_id)
        has_content = known is not None and known.version.length > 0
        blob = await self._blobs.read(names.run_name(run_id), has_content=has_content)
        if blob is None:
            return None
        first = await self._first_event(run_id, blob)
        if first is None:
            self._knowledge.forget(run_id)
            return Erased(run_id)
        lines = tuple(blob.body.splitlines())
        events = (first, *map(decode, lines))
        record = fold(events)
        assert record is not None
        self._knowledge.read_up_to(run_id, record.position, blob.version.length)
        known = Known(record.position, blob.version, first.place, record.cancel_requested)
        self._knowledge.saw(run_id, known, is_ended=record.terminal is not None)
        return _Log(record, events, lines)

    async def _first_event(self, run_id: str, blob: Blob) -> Accepted | None:
        """Return the event that opened the run, or None when it was erased."""
        if "accepted" in blob.metadata:
            return names.unpack(blob.metadata["accepted"])
        entry = await self._blobs.read(blob.metadata["thread"] + run_id) if "thread" in blob.metadata else None
        return names.unpack_entry(entry.body) if entry else None

    async def _index(self, place: Place) -> dict[str, float]:
        """Return the ids of the thread's runs that were not erased, each with the time of its request."""
        prefix, own = names.thread_prefix(place), names.run_name(place_digest(place))
        entries, logs = await asyncio.gather(self._blobs.list(prefix), self._blobs.list(own))
        found = {name[len(prefix) :]: float(metadata["at"]) for name, metadata in entries.items()}
        return {**found, **_indexed_by_id(logs, place)}

    async def _has_open(self, run_ids: Collection[str]) -> bool:
        """Tell whether one of the runs has not ended."""
        for run_id in run_ids:
            record = await self.read(run_id)
            if isinstance(record, RunRecord) and record.terminal is None:
                return True
        return False

    async def _erase_run(self, place: Place, run_id: str) -> None:
        await self._blobs.create_log(names.run_name(run_id), {"erased": "1"}, replace=True)
        await self._blobs.delete(names.thread_prefix(place) + run_id)
        await self._blobs.delete(names.cancel_name(run_id))
        self._knowledge.forget(run_id)
        self._knowledge.ended(run_id, place)


def _found(existing: RunRecord | Erased | None) -> Found | Erased | None:
    return Found(existing) if isinstance(existing, RunRecord) else existing


def _indexed_by_id(logs: Mapping[str, Mapping[str, str]], place: Place) -> dict[str, float]:
    """A log without its first event was erased, or has an entry; one of another thread shares the digest."""
    begun = (names.unpack(metadata["accepted"]) for metadata in logs.values() if "accepted" in metadata)
    return {accepted.run_id: accepted.at for accepted in begun if accepted.place == place}
