"""The parts of an answer that several wires have: a refusal, a list, a message's parts, a stream that may break off."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from msgspec.structs import replace

from hosting.core.thread.run_request import UserMessage
from hosting.errors import HostingError, InternalError, InvalidFieldError
from hosting.http.refusals import later_headers
from hosting.http.replies import Reply, Streamed, first_page
from hosting.http.run_call import ignored_headers

logger = logging.getLogger(__name__)

Event = TypeVar("Event")
MOST_ITEMS = 100
_DEFAULT_ITEMS = 20


def refusal_reply(
    error: HostingError,
    body: Mapping[str, object],
    *,
    is_later: bool,
    status: int | None = None,
    more: Mapping[str, str] | None = None,
) -> Reply:
    """Return an error in a wire's own shape. `is_later`: the same request may be served later, and the headers say so.

    Without a `status` it has that of the error.
    """
    headers = {"x-content-type-options": "nosniff", **(later_headers(error) if is_later else {}), **(more or {})}
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    return Reply(status or error.status, json.dumps(body, ensure_ascii=False), "application/json", headers)


def streamed(frames: AsyncGenerator[bytes, None], headers: Mapping[str, str] | None = None) -> Streamed:
    """Return the answer that sends these frames, which no proxy on the way is to collect."""
    return Streamed(frames, {**(headers or {}), "x-accel-buffering": "no"})


def data_frames(values: Iterable[object]) -> bytes:
    """Return values in the event stream format, each as an event without a name."""
    return b"".join(f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode() for value in values)


async def framed(
    subject: str,
    batches: AsyncGenerator[list[Event], None],
    broken: Callable[[HostingError], list[Event]],
    advice: str,
    encode: Callable[[list[Event]], bytes] = data_frames,
) -> AsyncGenerator[bytes, None]:
    """Yield the frames of a stream of events; where it fails, the last ones are `broken`, which say why.

    `advice` is for a reader who meets a defect of ours; the log has that it was the stream of the `subject`.
    """
    try:
        async with aclosing(batches):
            async for events in batches:
                if events:
                    yield encode(events)
    except HostingError as error:
        yield encode(broken(error))
    except Exception:
        logger.exception("The stream of %s failed.", subject)
        yield encode(broken(InternalError(f"The stream broke off. The app's log has the cause. {advice}")))


def page(items: Sequence[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """Return the part of a list that a query wants: `order` (newest first without it), `after` an id, `limit`.

    `items` are the oldest first. A page ends at its bytes too. Raises `InvalidFieldError`.
    """
    order, after, limit = query.get("order", "desc"), query.get("after"), query.get("limit", str(_DEFAULT_ITEMS))
    if order not in ("asc", "desc"):
        raise InvalidFieldError(f"The query 'order' is {order[:80]!r}. Send 'asc' or 'desc'.")
    if not (limit.isascii() and limit.isdigit() and len(limit) < 4 and 1 <= int(limit) <= MOST_ITEMS):
        raise InvalidFieldError(f"The query 'limit' is {limit[:80]!r}. Send 1 to {MOST_ITEMS}.")
    ordered = list(items if order == "asc" else reversed(items))
    if after is not None:
        ids = [item["id"] for item in ordered]
        if after not in ids:
            raise InvalidFieldError(f"The query 'after' is {after[:80]!r}, which is not an id of this list.")
        ordered = ordered[ids.index(after) + 1 :]
    shown = first_page(ordered[: int(limit)])
    return {**whole_list(shown), "has_more": len(shown) < len(ordered)}


def whole_list(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return OpenAI's form of a list that has all of these items."""
    first, last = (items[0]["id"], items[-1]["id"]) if items else ("", "")
    return {"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": False}


def input_parts(message: UserMessage) -> list[dict[str, Any]]:
    """Return a message as parts of OpenAI's form."""
    texts = [{"$type": "text", "text": message.message}] if message.message else []
    return [_part(content, message.role) for content in (*texts, *message.contents)]


def _part(content: Mapping[str, Any], role: str) -> dict[str, Any]:
    kind, uri = content.get("$type"), content.get("uri") or ""
    if kind == "text" and role == "assistant":
        return {"type": "output_text", "text": content["text"], "annotations": [], "logprobs": []}
    if kind == "text":
        return {"type": "input_text", "text": content["text"]}
    if kind == "hostedFile":
        return {"type": "input_file", "file_id": content["fileId"]}
    if str(content.get("mediaType")).startswith("image/"):
        return {"type": "input_image", "image_url": uri, "detail": "auto"}
    name = {"filename": content["name"]} if content.get("name") else {}
    return {"type": "input_file", "file_data": uri, **name}


_Answer = TypeVar("_Answer", bound=Reply | Streamed)


def with_ignored(answer: _Answer, ignored: Sequence[str]) -> _Answer:
    """Return an answer with the header that names the fields without an effect."""
    return replace(answer, headers={**answer.headers, **ignored_headers(ignored)}) if ignored else answer
