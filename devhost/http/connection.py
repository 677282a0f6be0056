"""One client's connection: what the web server lets in before any endpoint sees it (host contract 2.4).

uvicorn bounds neither the size nor the time of a request's head, so a client could hold the host's memory and sockets
for ever. Kestrel's limits apply here: their excess is answered with an empty response, and the connection closed.
"""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

logger = logging.getLogger(__name__)
REQUEST_LINE_BYTES = 8 * 1024
HEADERS_BYTES = 32 * 1024
_LINE_OVERHEAD = len("GET  HTTP/1.1\r\n")
_HEADER_OVERHEAD = len(": \r\n")


class RefusedError(Exception):
    """The request's head cannot be taken; `status` answers it."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class HostConnection(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 with limits on a request's head: its line, its headers, and the time until it is whole."""

    head_seconds = 30.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_in_head = False
        self._head_bytes = 0
        self._header_bytes = 0
        self._status = HTTPStatus.BAD_REQUEST
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client that connects and says nothing is given the time of a kept connection."""
        super().connection_made(transport)
        self._await_head(float(self.timeout_keep_alive))

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; what the parser keeps of one endless header is bounded here, where its bytes come in."""
        was_in_head = self._is_in_head
        super().data_received(data)
        if was_in_head and self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > REQUEST_LINE_BYTES + HEADERS_BYTES:
                self._status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
                self.send_400_response("")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head = True
        self._head_bytes = self._header_bytes = 0
        self._await_head(self.head_seconds)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) + _LINE_OVERHEAD > REQUEST_LINE_BYTES:
            self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._header_bytes += len(name) + len(value) + _HEADER_OVERHEAD
        if self._header_bytes > HEADERS_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """Take the request; one without `Host` is refused by its version, as the real host does."""
        self._head_arrived()
        if not any(name == b"host" for name, _ in self.headers):
            is_new = self.parser.get_http_version() == "1.1"
            self._refuse(HTTPStatus.BAD_REQUEST if is_new else HTTPStatus.INTERNAL_SERVER_ERROR)
        super().on_headers_complete()

    def _refuse(self, status: HTTPStatus) -> None:
        """Leave the parser, which reports any exception of its callbacks as a request that cannot be read."""
        self._status = status
        raise RefusedError(status)

    def _await_head(self, seconds: float) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._head_timer = self.loop.call_later(seconds, self._give_up)

    def _head_arrived(self) -> None:
        self._is_in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        """End a connection without a whole head: silently before its first byte, with 408 after it."""
        self._head_timer = None
        if self._is_in_head:
            self._status = HTTPStatus.REQUEST_TIMEOUT
            self.send_400_response("")
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be taken: no body, and the connection ends."""
        if self.transport.is_closing():
            return
        logger.warning("A request was refused with %d %s: %s", self._status, self._status.phrase, msg or "its head")
        lines = [f"HTTP/1.1 {self._status.value} {self._status.phrase}", "content-length: 0", "connection: close"]
        self.transport.write("\r\n".join([*lines, "", ""]).encode())
        self.transport.close()
