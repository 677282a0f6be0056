"""The web server: uvicorn on sockets that are bound before the app is loaded."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import re
import socket
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from devhost.errors import AddressError
from devhost.http.origins import is_loopback_name

requests = logging.getLogger(f"{__name__}.requests")

_BACKLOG = 2048
# Kestrel's own; a shorter one makes pooled clients meet connections that close under them.
_KEEP_ALIVE_SECONDS = 130
# Of a head, Kestrel's own.
_MOST_LINE_BYTES = 8 * 1024
_MOST_HEADER_BYTES = 32 * 1024
_LINGER_SECONDS = 2.0
# Of a body, Kestrel's own: from the grace period on.
_LEAST_BYTES_PER_SECOND = 240
_GRACE_SECONDS = 5.0
_METHOD = re.compile(rb"(?:get|head|post|put|patch|delete|options|trace)(?= )", re.IGNORECASE)


def bind_sockets(host: str, port: int) -> Sequence[socket.socket]:
    """Return listening sockets for the address, port 0 meaning a free one; raise `AddressError` by a sentence.

    They listen at once, so that early requests wait instead of being refused while the host starts. For the IPv4
    loopback, the IPv6 one is opened too where it can be: `localhost` may mean either.
    """
    first = _bind(host, port)
    if host not in ("127.0.0.1", "localhost"):
        return [first]
    with contextlib.suppress(AddressError):
        return [first, _bind("::1", port_of(first))]
    return [first]


def port_of(bound: socket.socket) -> int:
    """Return the port that a socket is bound to."""
    port: int = bound.getsockname()[1]
    return port


def _bind(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise AddressError(f"The host '{host}' is not an address of this machine: {error}.") from error
    try:
        _prepare(bound)
        bound.bind(address)
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise AddressError(_bind_failure(host, port, error)) from error
    return bound


def _prepare(bound: socket.socket) -> None:
    """Allow a restart at once on POSIX; on Windows the same option would let two hosts share a port."""
    if sys.platform != "win32":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if bound.family == socket.AF_INET6:
        bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    bound.setblocking(False)


def _bind_failure(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is in use. If this app runs already, stop it first. Else choose another port with --port."
    return f"Cannot listen on {host}, port {port}: {error.strerror}. Choose another with --host or --port."


def url_host(host: str) -> str:
    """Return how a URL on this machine names the host: loopback as `localhost`, IPv6 addresses in brackets."""
    if is_loopback_name(host) or host in ("0.0.0.0", "::"):
        return "localhost"
    return f"[{host}]" if ":" in host else host


def rpc_host(host: str) -> str:
    """Return the address under which the process reaches itself."""
    if host in ("localhost", "0.0.0.0"):
        return "127.0.0.1"
    host = "::1" if host == "::" else host
    return f"[{host}]" if ":" in host else host


class LimitedProtocol(HttpToolsProtocol):
    """A connection whose heads are bounded: 414 for a line over 8 KiB, 431 for headers over 32 KiB.

    The parser holds whatever is no body until it is whole, so this counts what came since the last byte of a body:
    heads, and also trailers and the extensions of chunks, which nobody here reads.

    A body that comes too slowly, or ends too soon, has failed: an empty 500 ends the connection, and the app's request
    has lost its client. Methods are read in any case.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # uvicorn's own logger of requests is the worker's web server's, for which `fastapi_mode` writes.
        self.access_logger, self.access_log = requests, requests.isEnabledFor(logging.INFO)
        self.url = b""
        self._unread_bytes = 0
        self._is_head = True
        self._is_refused = False
        self._is_between = True
        self._body_bytes = 0
        self._body_began = 0.0
        self._pace: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Read what came; of a refused head, the rest is thrown away."""
        if self._is_refused:
            return
        if self._is_between:
            data = _METHOD.sub(lambda method: method[0].upper(), data, count=1) if _METHOD.match(data) else data
        self._is_between = False
        self._unread_bytes += len(data)
        super().data_received(data)
        if self._unread_bytes > _MOST_LINE_BYTES + _MOST_HEADER_BYTES and not self.transport.is_closing():
            self._refuse(414 if len(self.url) > _MOST_LINE_BYTES else 431)

    def on_message_begin(self) -> None:
        """See `HttpToolsProtocol`."""
        self._is_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a trailer is none, and comes when the app may have read the headers already."""
        if self._is_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin the request, or its refusal, which ends the connection: nobody else is asked on it any more."""
        self._is_head = False
        self._unread_bytes = 0
        line_bytes = len(self.parser.get_method()) + len(self.url) + len("  HTTP/1.1\r\n")
        header_bytes = sum(len(name) + len(value) + len(": \r\n") for name, value in self.headers)
        if line_bytes > _MOST_LINE_BYTES or header_bytes > _MOST_HEADER_BYTES:
            status = 414 if line_bytes > _MOST_LINE_BYTES else 431
            self.app = Response(status_code=status, headers={"connection": "close"})
        super().on_headers_complete()
        self._expect_body()

    def on_body(self, body: bytes) -> None:
        """See `HttpToolsProtocol`."""
        self._unread_bytes = 0
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """See `HttpToolsProtocol`."""
        self._unread_bytes = 0
        self._is_between = True
        self._forget_pace()
        super().on_message_complete()

    def eof_received(self) -> None:
        """End a request whose client has stopped before its body was whole."""
        if self._pace is not None:
            self._fail()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `HttpToolsProtocol`."""
        self._forget_pace()
        super().connection_lost(exc)

    def _expect_body(self) -> None:
        """Measure a body from here on."""
        self._body_bytes, self._body_began = 0, self.loop.time()
        self._pace = self.loop.call_later(_GRACE_SECONDS, self._check_pace)

    def _check_pace(self) -> None:
        if self.flow.read_paused:  # the app takes its time, not the client
            self._expect_body()
        elif self._body_bytes < _LEAST_BYTES_PER_SECOND * (self.loop.time() - self._body_began):
            self._fail()
        else:
            self._pace = self.loop.call_later(1.0, self._check_pace)

    def _forget_pace(self) -> None:
        if self._pace is not None:
            self._pace.cancel()
            self._pace = None

    def _fail(self) -> None:
        """End the connection, with a 500 unless an answer has begun."""
        self._forget_pace()
        cycle = self.cycle
        if cycle is not None and not cycle.response_started:
            self.transport.write(STATUS_LINE[500] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        if cycle is not None:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()

    def _refuse(self, status: int) -> None:
        """End the connection; unless another answer is under way on it, with this status.

        For a moment what still comes is taken, because a socket that is closed with unread bytes is reset, and many
        clients then lose the answer.
        """
        self._is_refused = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()
            return
        self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)


class WebServer(uvicorn.Server):
    """uvicorn without its own signal handling, which would stop it before the durable engine has drained."""

    def __init__(self, app: ASGIApp, *, verbose: bool, grace_seconds: float) -> None:
        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=int(grace_seconds),
        )
        super().__init__(config)
        requests.setLevel(logging.INFO if verbose else logging.WARNING)
        self.ready = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the host."""
        yield

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until `should_exit`; `ready` is set even when starting fails, so that nobody waits for ever."""
        try:
            await super().serve(sockets)
        finally:
            self.ready.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and set `ready` then."""
        await super().startup(sockets)
        self.ready.set()
