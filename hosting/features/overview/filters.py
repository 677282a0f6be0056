"""The filters of lists of threads: how a query names them, and which threads they let through.

Theory. A list is made of what the overview knows of each thread, so a filter reads no thread. That may be a little old.
So the threads of a page, whose heads are read for what is shown, are looked at once more: a page has no thread that
the filter does not let through at that moment. It may then have fewer than its limit.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import cast

from hosting.core.thread.head import Head
from hosting.errors import InvalidFieldError
from hosting.features.overview.log import KnownThread, label_of
from hosting.features.overview.routes import CHANGED_SINCE, METADATA_FILTER, STATUS, Status
from hosting.http.parameters import OWNER
from hosting.http.route import Route
from hosting.http.verbs import EVERY_THREAD, ThreadFilter
from hosting.metadata import LONGEST_NAME, Metadata, shown_value
from hosting.ports import read_utc

_OF_METADATA = f"{METADATA_FILTER.name.partition('.')[0]}."
_OF_THE_PLATFORM = ("code", "clientId")
"""What Azure Functions takes in a query: the key of the function, and its name."""


def read_filter(route: Route, query: Mapping[str, str]) -> ThreadFilter:
    """Return the filter that a query names; raises `InvalidFieldError` that names a parameter which there is not."""
    own = [parameter.name for parameter in route.all_parameters if parameter is not METADATA_FILTER]
    known = [*own, OWNER.name, *_OF_THE_PLATFORM]
    metadata = {name.removeprefix(_OF_METADATA): text for name, text in query.items() if name.startswith(_OF_METADATA)}
    for name in query:
        if name not in known and not name.startswith(_OF_METADATA):
            near = difflib.get_close_matches(name, known, n=1)
            advice = f"Did you mean {near[0]!r}?" if near else "Filters: status, changed_since and metadata.<name>."
            raise InvalidFieldError(f"The query {name[:80]!r} is not known. {advice}")
    for name in metadata:
        if not 1 <= len(name) <= LONGEST_NAME:
            raise InvalidFieldError(
                f"The query 'metadata.{name[:80]}' names no member. Send 1 to {LONGEST_NAME} characters there."
            )
    since, moment = CHANGED_SINCE.read(query), 0.0
    if since is not None:
        read = read_utc(since.replace(" ", "+"))  # as a query has a plus that nobody encoded
        if read is None:
            raise InvalidFieldError(f"The query 'changed_since' is {since[:80]!r}. Send {CHANGED_SINCE.advice}")
        moment = read
    status = cast("Status | None", STATUS.read(query))
    if not metadata and status is None and since is None:
        return EVERY_THREAD
    return ThreadFilter(metadata, status, moment)


def may_pass(thread_id: str, known: KnownThread, wanted: ThreadFilter) -> bool:
    """Return whether the filter may let the thread through, as the overview knows it."""
    has_runs = known.since < known.counted
    fits = {
        None: True,
        "running": has_runs,
        "paused": has_runs,
        "waiting": known.waits,
        "idle": not has_runs,  # one whose approvals have expired meanwhile waits no more
    }
    if not fits[wanted.status] or not _is_since(known.changed_at, wanted):
        return False
    return all(label_of(thread_id, name, text) in known.labels for name, text in wanted.metadata.items())


def passes(head: Head, wanted: ThreadFilter, now: float) -> bool:
    """Return whether the filter lets the thread with this head through."""
    has_status = wanted.status is None or thread_status(head, now) == wanted.status
    return has_status and _is_since(head.changed_at, wanted) and _fit(head.metadata, wanted)


def thread_status(head: Head, now: float) -> Status:
    """Return whether a thread waits for approvals, is paused, has runs that have not ended, or nothing of this."""
    if head.is_waiting_for_approval(now):
        return "waiting"
    if head.is_paused:
        return "paused"
    return "running" if head.runs else "idle"


def _is_since(changed_at: float, wanted: ThreadFilter) -> bool:
    """Return whether a thread changed since then, as times are shown: rounded to microseconds."""
    return round(changed_at, 6) >= round(wanted.changed_since, 6)


def _fit(metadata: Metadata, wanted: ThreadFilter) -> bool:
    return all(name in metadata and shown_value(metadata[name]) == text for name, text in wanted.metadata.items())
