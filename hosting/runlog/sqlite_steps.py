"""What the SQLite run log does within one transaction: each function is one step of `RunLogStore`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import replace

from hosting.events import TERMINAL_KINDS, Accepted, CancelRequested, Event, Place, decode
from hosting.ports import Deleting, Deletion, Erased, Found, Opened, Opening, QueueFull
from hosting.run_record import RunRecord, fold

_INSERT_EVENT = "INSERT INTO event (run_id, position, body) VALUES (?, ?, ?)"
_INSERT_RUN = "INSERT INTO run (run_id, agent, thread_id, at) VALUES (?, ?, ?, ?)"
_LAST = "SELECT max(position) FROM event WHERE run_id = ?"
_READ = "SELECT body FROM event WHERE run_id = ? AND position > ? ORDER BY position"
_OPEN_RUNS = "SELECT count(*) FROM run WHERE agent = ? AND thread_id = ? AND NOT is_ended"
_RUNS = (
    "SELECT run_id FROM run WHERE agent = ? AND thread_id = ? AND NOT is_erased ORDER BY at DESC, run_id DESC LIMIT ?"
)
_TO_CANCEL = "SELECT run_id FROM run WHERE is_to_cancel AND run_id IN (SELECT value FROM json_each(?))"
_ERASE_EVENTS = "DELETE FROM event WHERE run_id IN (SELECT run_id FROM run WHERE agent = ? AND thread_id = ?)"
_OLD_RUNS = "SELECT run_id FROM run WHERE is_ended AND NOT is_erased AND at < ? LIMIT ?"
_EXPIRE_EVENTS = "DELETE FROM event WHERE run_id IN (SELECT value FROM json_each(?))"
_EXPIRE_RUNS = "UPDATE run SET is_erased = 1 WHERE run_id IN (SELECT value FROM json_each(?))"
_ERASE_RUNS = "UPDATE run SET is_erased = 1, is_ended = 1 WHERE agent = ? AND thread_id = ? AND NOT is_erased"


def open_run(
    connection: sqlite3.Connection, accepted: Accepted, body: bytes, receipt: str | None, most_open: int | None
) -> Opening:
    """See `RunLogStore.open`."""
    run_id = _run_of(connection, receipt) or accepted.run_id
    existing = read_run(connection, run_id)
    if existing is not None:
        return existing if isinstance(existing, Erased) else Found(existing)
    refused = _refusal(connection, accepted.place, most_open)
    if refused is not None:
        return refused
    connection.execute(_INSERT_EVENT, (run_id, 1, body))
    connection.execute(_INSERT_RUN, (run_id, accepted.place.agent, accepted.thread_id, accepted.at))
    if receipt is not None:
        connection.execute("INSERT OR REPLACE INTO receipt VALUES (?, ?, ?)", (receipt, run_id, accepted.at))
    return Opened(RunRecord(accepted=accepted, signalled_at=accepted.at))


def _run_of(connection: sqlite3.Connection, receipt: str | None) -> str | None:
    if receipt is None:
        return None
    row = connection.execute("SELECT run_id FROM receipt WHERE receipt = ?", (receipt,)).fetchone()
    return row[0] if row else None


def _refusal(connection: sqlite3.Connection, place: Place, most_open: int | None) -> Deleting | QueueFull | None:
    mark = deletion_of(connection, place)
    if mark is not None and mark.digest is None:
        return Deleting()
    if most_open is None:
        return None
    open_runs = connection.execute(_OPEN_RUNS, (place.agent, place.thread_id)).fetchone()[0]
    return QueueFull(open_runs) if open_runs >= most_open else None


def append_events(
    connection: sqlite3.Connection, run_id: str, events: Sequence[tuple[Event, bytes]], after: int
) -> bool:
    """See `RunLogStore.append`: the transaction holds the write lock, so nobody comes between look and write."""
    if connection.execute(_LAST, (run_id,)).fetchone()[0] != after:
        return False
    for position, (event, body) in enumerate(events, start=after + 1):
        connection.execute(_INSERT_EVENT, (run_id, position, body))
        if event.kind in TERMINAL_KINDS:
            connection.execute("UPDATE run SET is_ended = 1 WHERE run_id = ?", (run_id,))
        elif isinstance(event, CancelRequested):
            connection.execute("UPDATE run SET is_to_cancel = 1 WHERE run_id = ?", (run_id,))
    return True


def read_run(connection: sqlite3.Connection, run_id: str) -> RunRecord | Erased | None:
    """See `RunLogStore.read`."""
    events = read_events(connection, run_id, 0)
    return events if isinstance(events, Erased) else fold(events or ())


def read_events(connection: sqlite3.Connection, run_id: str, after: int) -> tuple[Event, ...] | Erased | None:
    """See `RunLogStore.events`."""
    events = tuple(decode(row[0]) for row in connection.execute(_READ, (run_id, after)))
    if events:
        return events
    row = connection.execute("SELECT is_erased FROM run WHERE run_id = ?", (run_id,)).fetchone()
    if row is None:
        return None
    return Erased(run_id) if row[0] else ()


def cancel_requests(connection: sqlite3.Connection, run_ids: Collection[str]) -> frozenset[str]:
    """See `RunLogStore.cancel_requests`."""
    return frozenset(row[0] for row in connection.execute(_TO_CANCEL, (json.dumps(list(run_ids)),)))


def runs_of(connection: sqlite3.Connection, place: Place, limit: int) -> list[RunRecord]:
    """See `RunLogStore.runs_of`."""
    run_ids = [row[0] for row in connection.execute(_RUNS, (place.agent, place.thread_id, limit)).fetchall()]
    records = (read_run(connection, run_id) for run_id in run_ids)
    return [record for record in records if isinstance(record, RunRecord)]


def mark_deleting(connection: sqlite3.Connection, place: Place, deletion_id: str) -> Deletion:
    """See `RunLogStore.mark_deleting`."""
    mark = deletion_of(connection, place)
    if mark is None or mark.digest is not None:
        mark = Deletion(deletion_id)
        _store_mark(connection, place, mark)
    return mark


def deletion_of(connection: sqlite3.Connection, place: Place) -> Deletion | None:
    """See `RunLogStore.deletion`."""
    question = "SELECT id, digest, runs, receipt FROM deletion WHERE agent = ? AND thread_id = ?"
    row = connection.execute(question, (place.agent, place.thread_id)).fetchone()
    return Deletion(*row) if row else None


def erase_thread(
    connection: sqlite3.Connection, place: Place, deletion: Deletion, unless_open: bool
) -> Deletion | None:
    """See `RunLogStore.erase`."""
    thread = (place.agent, place.thread_id)
    if unless_open and connection.execute(_OPEN_RUNS, thread).fetchone()[0]:
        return None
    connection.execute(_ERASE_EVENTS, thread)
    mark = replace(deletion, runs=connection.execute(_ERASE_RUNS, thread).rowcount)
    _store_mark(connection, place, mark)
    return mark


def expire_runs(connection: sqlite3.Connection, before: float, limit: int) -> int:
    """See `RunLogStore.expire`."""
    old = json.dumps([row[0] for row in connection.execute(_OLD_RUNS, (before, limit))])
    connection.execute(_EXPIRE_EVENTS, (old,))
    return connection.execute(_EXPIRE_RUNS, (old,)).rowcount


def settle(connection: sqlite3.Connection, place: Place, deletion: Deletion) -> None:
    """See `RunLogStore.settle`."""
    statement = "UPDATE deletion SET receipt = ? WHERE agent = ? AND thread_id = ? AND id = ?"
    connection.execute(statement, (deletion.receipt, place.agent, place.thread_id, deletion.id))


def _store_mark(connection: sqlite3.Connection, place: Place, mark: Deletion) -> None:
    values = (place.agent, place.thread_id, mark.id, mark.digest, mark.runs, mark.receipt)
    connection.execute("INSERT OR REPLACE INTO deletion VALUES (?, ?, ?, ?, ?, ?)", values)
