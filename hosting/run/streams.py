"""Answers that are streams: a run's events as bytes, to their end, and a last word when they break off before it."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator

from hosting.errors import HostingError, InternalError
from hosting.ports import EntityClient
from hosting.reply.frames import PING, broken
from hosting.reply.run_replies import Streamed, events_url, run_headers
from hosting.run.following import Following
from hosting.run_record import RunRecord

logger = logging.getLogger(__name__)

_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""Nothing between us and the reader may keep frames or hold them back; the second is nginx's word for it."""


class Streams:
    """Makes the streams of an app's runs (http-api.md section 5)."""

    def __init__(self, following: Following) -> None:
        self._following = following

    def reply(self, record: RunRecord, client: EntityClient, base_url: str, after: int = 0) -> Streamed:
        """Return the run's events behind `after` as they come, up to the last."""
        where = {"content-location": events_url(record, base_url)}
        return Streamed(self._bytes(record, client, after), {**run_headers(record), **_HEADERS, **where})

    async def _bytes(self, record: RunRecord, client: EntityClient, after: int) -> AsyncGenerator[bytes, None]:
        try:
            async for batch in self._following.batches(record, client, after):
                if batch.frames or batch.is_silence:
                    yield b"".join(frame.encode() for frame in batch.frames) or PING
        except HostingError as error:
            yield broken(error).encode()
        except Exception:
            logger.exception("The stream of run %s failed.", record.run_id)
            yield broken(InternalError("The stream broke off; the cause is in the app's log. Resume it.")).encode()
