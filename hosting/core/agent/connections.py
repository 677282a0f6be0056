"""The connections to the MCP servers of agents' tools, each opened again once it broke.

Theory. agent-framework connects to a server once and keeps that connection, whatever becomes of it: a server that is
started again, or a child process that died, would be lost until this process ends. So the end of each connection is
noticed here, and the server is connected to anew before the next run of its agent, or the next call of one of its
tools. Only a connection that is over is replaced, or a connection that refused a call while no other call is under way.
So no run is cut off by what another one finds out.

A call with a broken connection may have been carried out. Only a tool that is `idempotent` is called again. Of any
other the model reads that the outcome is unknown, and goes on. A call that has done nothing is also made again: the
server refused it because it does not know the session, or the connection was let go of before it was sent.

A transport that fails cancels the task that opened it (anyio's cancel scopes). That would be the task in which
agent-framework opens and closes all connections of the server. So each transport is opened and left by a task of its
own, and what it leaves behind is a closed stream.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from hosting.core.agent.causes import chain_of, named_cause
from hosting.core.agent.framework import McpServer, relist_tools
from hosting.tools import AT_WORK

logger = logging.getLogger(__name__)

OPENING_SECONDS = 30.0
"""For so long an agent, or a server of its tools, may take to be opened."""
LEAVING_SECONDS = 10.0
"""For so long a connection may take to be left; stopping a child process takes 4 s of it at most."""

_CONNECTION_CLOSED = -32000
_NO_SESSION = (-32600, -32001)
"""The codes by which servers refuse a session that they do not know: of MCP's SDK for Python, and of the others."""
_UNSENT = "MCPTool is not connected."
_LEFT = "Client must be used within an async context manager"
"""The framework's error for a call without a connection, and the SDK's for a connection that was left meanwhile."""


class UnreachableError(ConnectionError):
    """A client or server of an agent cannot be reached. The text is ours, and callers may read it."""


class BrokenConnectionError(ConnectionError):
    """The connection to a server broke during a call, so its outcome is unknown; the model reads this text."""


class ServerConnection(AbstractAsyncContextManager[Any]):
    """A transport to a server, opened and left by a task of its own.

    `is_over` once nothing comes from it any more; when that happens by itself it `has_broken`, and `on_over` is called.
    """

    def __init__(self, name: str, transport: AbstractAsyncContextManager[Any], on_over: Callable[[], object]) -> None:
        self.is_over = self.has_broken = False
        self._on_over = on_over
        self._name = name
        self._transport = transport
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Any:
        opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        context = contextvars.copy_context()
        context.run(AT_WORK.set, None)  # it works for other runs too
        self._task = context.run(asyncio.create_task, self._hold(opened), name=f"connection to {self._name}")
        return await opened

    async def __aexit__(self, *_: object) -> None:
        await self._leave(self._closing.set)

    async def end(self) -> None:
        """Close the connection to a server that does not answer: all waits for it end."""
        await self._leave()

    async def _leave(self, *ways: Callable[[], object]) -> None:
        self.is_over, task = True, self._task
        if task is None:
            return
        for leave in (*ways, task.cancel, task.cancel):
            leave()
            await asyncio.wait((task,), timeout=LEAVING_SECONDS)
            if task.done():
                return
        logger.warning("The connection to MCP server %s was not closed within %g s.", self._name, LEAVING_SECONDS)

    async def _hold(self, opened: asyncio.Future[Any]) -> None:
        try:
            async with self._transport as (incoming, outgoing):
                if not opened.done():
                    opened.set_result((_Followed(incoming, self), outgoing))
                    await self._closing.wait()
        except Exception as error:
            if not opened.done():
                opened.set_exception(error)
            elif not self._closing.is_set():
                logger.info("The connection to MCP server %s broke: %s", self._name, named_cause(_innermost(error)))
        finally:
            self.notice_end()
            opened.cancel()

    def notice_end(self) -> None:
        """Know that the connection is over."""
        if not self.is_over:
            self.is_over = self.has_broken = True
            self._on_over()


class _Followed:
    """Messages from a server. Their only reader leaves when the connection is over."""

    def __init__(self, stream: Any, connection: ServerConnection) -> None:
        self._stream = stream
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> _Followed:
        return self

    async def __anext__(self) -> Any:
        return await self._stream.__anext__()

    async def __aenter__(self) -> _Followed:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not asyncio.CancelledError:  # by that the framework closes what works
            self._connection.notice_end()
        await self._stream.aclose()


class ToolServer:
    """An MCP server of agents' tools in this process. The framework gets each transport to it from here."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._transport = server.get_mcp_client
        self._connection: ServerConnection | None = None
        self._calls = 0
        self._is_lost = False
        self._is_doubted = False
        self._opening: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    def __call__(self) -> ServerConnection:
        """Return a new connection, which the framework opens."""
        self._is_lost = self._is_doubted = False
        self._connection = ServerConnection(self._server.name, self._transport(), self._close_soon)
        return self._connection

    @property
    def _is_over(self) -> bool:
        return self._is_lost or (self._connection is not None and self._connection.has_broken)

    @property
    def _is_in_question(self) -> bool:
        # Within a call the framework connects anew by itself, where that call is of another user: by its headers.
        was_left = self._connection is not None and not self._server.is_connected
        return self._is_over or ((was_left or self._is_doubted) and not self._calls)

    async def ready(self) -> None:
        """Return once the server is connected, after connecting anew where that is in question.

        All that wait share one attempt. Raises `UnreachableError`.
        """
        if self._opening is None and self._is_in_question:
            self._opening = _begin(self._open_again())
            self._opening.add_done_callback(self._opened)
        if self._opening is not None:
            await asyncio.shield(self._opening)

    async def end(self) -> None:
        """Let go of a connection that is being opened for too long."""
        if self._connection is not None:
            await self._connection.end()

    async def call(self, make: Callable[[], Awaitable[None]], *, is_idempotent: bool) -> None:
        """Call a tool of the server, and once more if that is safe; raises the call's exception."""
        may_repeat, failure = await self._try(make, is_idempotent=is_idempotent)
        if may_repeat:
            _, failure = await self._try(make, is_idempotent=is_idempotent)
        if failure is not None:
            raise failure

    async def _try(self, make: Callable[[], Awaitable[None]], *, is_idempotent: bool) -> tuple[bool, Exception | None]:
        """Make a call; return whether it may be made again, on the present connection, and why it failed."""
        connection = self._connection
        self._calls += 1
        try:
            await make()
            return False, None
        except Exception as error:
            refusal, failure = _refusal(error), error
        finally:
            self._calls -= 1
        if refusal is None:
            return False, failure
        code, text = getattr(refusal, "code", None), str(refusal)
        was_sent, is_cut_off = text != _UNSENT, text == _LEFT or code == _CONNECTION_CLOSED
        self._is_doubted |= was_sent
        self._is_lost |= is_cut_off and connection is None
        may_repeat = True
        try:
            await self.ready()
        except UnreachableError as error:
            may_repeat, failure = False, error
        if is_cut_off and not is_idempotent:
            broken = BrokenConnectionError(
                f"The connection to the MCP server {self._server.name!r} broke during this call. The tool may have "
                "done its work, and is not called again."
            )
            broken.__cause__ = failure
            return False, broken
        is_replaced = self._connection is not connection
        had_no_session = is_replaced and code in _NO_SESSION and "session" in text.lower()
        is_safe = not was_sent or had_no_session or (is_idempotent and (is_cut_off or is_replaced))
        return may_repeat and is_safe, failure

    async def _open_again(self) -> None:
        look = self._check if self._server.is_connected else self._connect
        attempt = asyncio.ensure_future(self._reconnect() if self._is_over else look())
        done, _ = await asyncio.wait((attempt,), timeout=OPENING_SECONDS)
        if not done:
            await self.end()
            attempt.cancel()
            raise UnreachableError(f"The MCP server {self._server.name!r} did not answer within {OPENING_SECONDS:g} s.")
        try:
            attempt.result()
        except (Exception, asyncio.CancelledError) as error:
            raise UnreachableError(f"The MCP server {self._server.name!r} cannot be reached.") from error

    async def _reconnect(self) -> None:
        if self._closing is not None:
            await asyncio.wait((self._closing,))
        if self._server.is_connected:
            await self._server.close()
        await self._connect()

    async def _connect(self) -> None:
        relist_tools(self._server)
        await self._server.connect()
        self._is_lost = False

    async def _check(self) -> None:
        """Have the framework look whether the server still knows the session; if it does not answer, connect anew."""
        self._is_doubted = False
        try:
            await self._server.load_tools()
        except Exception:
            await self._reconnect()

    def _opened(self, opening: asyncio.Task[None]) -> None:
        self._opening = None

    def _close_soon(self) -> None:
        """Have the framework let go of a connection that broke: until then it asks the server for news, in vain."""
        logger.warning("The connection to MCP server %s has ended. The next call opens it again.", self._server.name)
        if self._opening is None and self._closing is None:
            self._closing = _begin(self._server.close())
            self._closing.add_done_callback(self._closed)

    def _closed(self, closing: asyncio.Task[None]) -> None:
        self._closing = None


def _begin(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Begin work outside of any run's context, because a connection outlives the run that finds it broken."""
    task: asyncio.Task[None] = contextvars.Context().run(asyncio.get_running_loop().create_task, work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


def tool_server(server: McpServer) -> ToolServer:
    """Return the keeper of the connection to a server, which it is from the first call on."""
    if not isinstance(server.get_mcp_client, ToolServer):
        server.get_mcp_client = ToolServer(server)  # type: ignore[method-assign,assignment]
    return server.get_mcp_client  # type: ignore[return-value]


async def connected(
    server: McpServer | None, make: Callable[[], Awaitable[None]], *, is_idempotent: bool
) -> Callable[[], Awaitable[None]]:
    """Connect to a tool's server if needed, and return the function that makes the call.

    Of a server that cannot be reached that raises why. Of a tool without a server it is `make` itself.
    """
    if server is None:
        return make
    held, unreachable = tool_server(server), None
    try:
        await held.ready()
    except UnreachableError as error:
        unreachable = error

    async def call() -> None:
        if unreachable is not None:
            raise unreachable
        await held.call(make, is_idempotent=is_idempotent)

    return call


def tool_servers(agent: Any) -> list[ToolServer]:
    """Return the MCP servers of an agent's own tools."""
    return [tool_server(server) for server in getattr(agent, "mcp_tools", ())]


def _innermost(error: BaseException) -> BaseException:
    """Return the first error within the groups that task groups raise."""
    inner: Sequence[BaseException] = getattr(error, "exceptions", ())
    return _innermost(inner[0]) if inner else error


def _refusal(error: Exception) -> BaseException | None:
    """Return why the protocol's client, which we do not require, got no answer of the tool; None if it did."""
    for cause in chain_of(error):
        is_refused = any(kind.__name__ == "MCPError" for kind in type(cause).__mro__)
        if is_refused or (isinstance(cause, RuntimeError) and str(cause) in (_UNSENT, _LEFT)):
            return cause
    return None
