"""The handlers of the routes of a thread's metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hosting.core.thread.head import Head
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.errors import InvalidFieldError, ThreadChangedError
from hosting.features.metadata.routes import (
    CHANGE,
    CHANGE_BODY,
    IF_MATCH,
    READ,
    MetadataChangedError,
    MetadataOfThread,
)
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.http.request import Bound, HttpRequest
from hosting.http.run_call import RawRequest
from hosting.metadata import Value, read_metadata


class MetadataHandlers:
    """Reads and changes the metadata of threads. A change is one append: what others wrote meanwhile stays."""

    def __init__(self, threads: Threads, log: ThreadLog, most_bytes: int) -> None:
        """A body has `most_bytes` at most."""
        self._threads, self._log, self._most_bytes = threads, log, most_bytes

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return Bound(READ, self._read), Bound(CHANGE, self._change)

    async def _read(self, request: HttpRequest) -> Reply:
        return _reply(request.thread_id, await self._threads.known_head(request.address, request.caller.client))

    async def _change(self, request: HttpRequest) -> Reply:
        change = await request.parsed(lambda raw: parse_change(raw, self._most_bytes))
        wanted, client = IF_MATCH.read(request.headers), request.caller.client
        described = None if wanted in (None, "*") else int(wanted.strip('"'))
        await self._threads.known_head(request.address, client)
        try:
            head = await self._threads.describe(request.address, change, client, described=described)
        except ThreadChangedError:
            raise MetadataChangedError(
                f"The thread's metadata is not {wanted} any more. Read it again, and send the new ETag as If-Match."
            ) from None
        return _reply(request.thread_id, head)


def parse_change(call: RawRequest, most_bytes: int) -> Mapping[str, Value | None]:
    """Return the members that change; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    fields = CHANGE_BODY.read(call, most_bytes)
    if "metadata" not in fields:
        raise InvalidFieldError("The field 'metadata' is missing. Send the members that change.")
    return read_metadata("metadata", fields["metadata"])


def _reply(thread_id: str, head: Head) -> Reply:
    body: MetadataOfThread = {**thread_ids(thread_id), "metadata": head.metadata}
    return json_reply(200, body, {**thread_headers(thread_id), "etag": f'"{head.described}"'})
