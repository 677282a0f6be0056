"""The parts of an answer that are the same over every wire: a refusal's headers, and a stream that may break off."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import TypeVar

from hosting.errors import HostingError, InternalError
from hosting.http.refusals import later_headers
from hosting.http.replies import Reply, Streamed

logger = logging.getLogger(__name__)

Event = TypeVar("Event")


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
