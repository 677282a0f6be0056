"""The web server: uvicorn on sockets that are bound before the app is loaded."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import sys
from collections.abc import Iterator, Sequence

import uvicorn
from starlette.types import ASGIApp

from devhost.errors import AddressError
from devhost.http.origins import is_loopback_name

_BACKLOG = 2048
# Kestrel's own; a shorter one makes pooled clients meet connections that close under them.
_KEEP_ALIVE_SECONDS = 130


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
        return f"Port {port} is in use, perhaps by another host. Stop it, or choose another port with --port."
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


class WebServer(uvicorn.Server):
    """uvicorn without its own signal handling, which would stop it before the durable engine has drained."""

    def __init__(self, app: ASGIApp, *, verbose: bool, grace_seconds: float) -> None:
        config = uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=verbose,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=int(grace_seconds),
        )
        super().__init__(config)
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
        """Start, and tell so by `ready`."""
        await super().startup(sockets)
        self.ready.set()
