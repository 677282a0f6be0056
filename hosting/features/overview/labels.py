"""The name of a thread and its pin, which its owner gives it: members of the thread's metadata.

Other clients keep members of their own there, so what they wrote stays, whoever writes at the same moment.
"""

from __future__ import annotations

from collections.abc import Mapping

from hosting.core.request.fields import read_flag, read_text
from hosting.core.thread.head import TITLE_CHARACTERS
from hosting.core.threads import Threads
from hosting.errors import InvalidFieldError
from hosting.features.overview.routes import DESCRIBE, DESCRIPTION, DescribedThread
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.http.request import Bound, HttpRequest
from hosting.http.run_call import RawRequest
from hosting.strict_json.parsing import refuse_lone_surrogates


class LabelHandlers:
    """The handler of the route that names and pins a thread."""

    def __init__(self, threads: Threads, most_bytes: int) -> None:
        """A body has `most_bytes` at most."""
        self._threads, self._most_bytes = threads, most_bytes

    def bound(self) -> tuple[Bound]:
        """Return the route with its handler."""
        return (Bound(DESCRIBE, self._describe),)

    async def _describe(self, request: HttpRequest) -> Reply:
        change = await request.parsed(lambda raw: parse_description(raw, self._most_bytes))
        await self._threads.known_head(request.address, request.caller.client)
        head = await self._threads.describe(request.address, change, request.caller.client)
        body: DescribedThread = {
            **thread_ids(request.thread_id),
            "title": head.name or head.title,
            "pinned": head.pinned,
        }
        return json_reply(200, body, thread_headers(request.thread_id))


def parse_description(call: RawRequest, most_bytes: int) -> Mapping[str, str | None]:
    """Return the members of the metadata that change, None for those that go.

    Raises a `HostingError` of `errors.REQUEST_ERRORS` for anything else.
    """
    fields = DESCRIPTION.read(call, most_bytes)
    change = dict[str, str | None]()
    if fields.get("title") is not None:
        title = read_text("title", fields["title"])
        refuse_lone_surrogates(title, "title")
        if len(title) > TITLE_CHARACTERS:
            raise InvalidFieldError(f"The field 'title' has {len(title)} characters. Send at most {TITLE_CHARACTERS}.")
        change["title"] = " ".join(title.split()) or None
    if fields.get("pinned") is not None:
        change["pinned"] = "true" if read_flag("pinned", fields["pinned"]) else None
    return change
