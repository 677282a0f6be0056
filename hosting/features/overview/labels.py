"""The name of a thread and its pin, which its owner gives it: members of the thread's metadata.

Other clients keep members of their own there, so what they wrote stays, whoever writes at the same moment.
"""

from __future__ import annotations

from collections.abc import Mapping

from hosting.core.request.fields import read_flag, read_text
from hosting.core.request.strict_json import refuse_lone_surrogates
from hosting.core.thread.head import TITLE_CHARACTERS, Head
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.errors import InvalidFieldError, ThreadChangedError
from hosting.features.overview.routes import DESCRIBE, DESCRIPTION, DescribedThread
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.http.request import Bound, HttpRequest
from hosting.http.run_call import RawRequest
from hosting.names import Address
from hosting.ports import EntityClient


class LabelHandlers:
    """The handler of the route that names and pins a thread."""

    def __init__(self, threads: Threads, log: ThreadLog, most_bytes: int) -> None:
        """A body has `most_bytes` at most."""
        self._threads, self._log, self._most_bytes = threads, log, most_bytes

    def bound(self) -> tuple[Bound]:
        """Return the route with its handler."""
        return (Bound(DESCRIBE, self._describe),)

    async def _describe(self, request: HttpRequest) -> Reply:
        change = await request.parsed(lambda raw: parse_description(raw, self._most_bytes))
        head = await self._described(request.address, change, request.caller.client)
        body: DescribedThread = {
            **thread_ids(request.thread_id),
            "title": head.name or head.title,
            "pinned": head.pinned,
        }
        return json_reply(200, body, thread_headers(request.thread_id))

    async def _described(self, address: Address, change: Mapping[str, str], client: EntityClient) -> Head:
        """Return the head with these members of the metadata in place of its own; empty ones go.

        Raises `UnknownThreadError`, and as `Threads.describe` does.
        """
        while True:
            head = await self._log.head(address)
            if head.position == 0 or head.state != "open":
                head = (await self._threads.view(address, client)).head  # stored by others, or not there
            metadata = {**await self._log.metadata(address, head), **change}
            try:
                await self._threads.describe(
                    address, {name: text for name, text in metadata.items() if text}, client, at=head
                )
                return await self._log.head(address)
            except ThreadChangedError:
                pass  # another request was first: what it wrote stays too


def parse_description(call: RawRequest, most_bytes: int) -> Mapping[str, str]:
    """Return the members of the metadata that change; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    fields = DESCRIPTION.read(call, most_bytes)
    change = dict[str, str]()
    if fields.get("title") is not None:
        title = read_text("title", fields["title"])
        refuse_lone_surrogates(title, "title")
        if len(title) > TITLE_CHARACTERS:
            raise InvalidFieldError(f"The field 'title' has {len(title)} characters. Send at most {TITLE_CHARACTERS}.")
        change["title"] = " ".join(title.split())
    if fields.get("pinned") is not None:
        change["pinned"] = "true" if read_flag("pinned", fields["pinned"]) else ""
    return change
