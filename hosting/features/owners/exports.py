"""The export of all that one owner has, page by page.

Theory. A page ends after so many bytes, and where a thread cannot be read after others were sent. What fails before the
first piece is refused as everywhere. The first page has all that is stored besides the threads, large contents last.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from hosting.core.archiving import PAGE_BYTES
from hosting.errors import HostingError, ThreadDeletingError, UnknownThreadError
from hosting.features.owners.owners import Owners
from hosting.http.exports import Exports, begin_export, json_bytes, no_contents
from hosting.http.replies import Streamed
from hosting.names import Address
from hosting.principal import Caller


class OwnerExports:
    """The exports of one app's owners, for one event loop."""

    def __init__(self, owners: Owners, exports: Exports) -> None:
        self._owners = owners
        self._exports = exports

    async def page(self, caller: Caller, after: tuple[str, str], limit: int) -> Streamed:
        """Return the owner's next threads after that agent and id, and the `next_cursor` of more.

        Raises as `Threads.export` does for the first of them; one that is deleted meanwhile is left out.
        """
        members: dict[str, Any] = {"owner": caller.owner}
        for part in self._owners.exported:
            members[part.member] = part.empty if after[0] else await part.export(caller)
        return await begin_export(self._page(caller, after, limit, members), {})

    async def _page(
        self, caller: Caller, after: tuple[str, str], limit: int, members: Mapping[str, Any]
    ) -> AsyncGenerator[bytes, None]:
        before = json_bytes(members)[:-1] + b', "threads": ['
        last: Address | None = None
        count = sent = 0
        cursor: str | None = None
        async for address, state in self._owners.listed(caller.owner, after):
            if state != "open":
                continue
            if last is not None and (count == limit or sent >= PAGE_BYTES):
                cursor = f"{last.agent}~{last.thread_id}"
                break
            begins = True
            try:
                async for piece in self._exports.pieces(address, caller.client):
                    yield (before if begins else b"") + piece
                    begins, before, sent = False, b", ", sent + len(piece)
            except (UnknownThreadError, ThreadDeletingError):
                if not begins:
                    raise
                continue
            except HostingError:
                if last is None or not begins:
                    raise
                cursor = f"{last.agent}~{last.thread_id}"
                break
            last, count = address, count + 1
        yield (before if last is None else b"") + b'], "next_cursor": ' + json_bytes(cursor)
        for member, read in [each for part in self._owners.exported for each in part.contents.items()]:
            contents = no_contents() if after[0] else read(caller)
            async for piece in self._exports.contents(member, contents, caller.owner):
                yield piece
        yield b"}"
