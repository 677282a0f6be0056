"""One run of the host: assembles engine, endpoints and server around the app, serves, drains.

Everything lives on one event loop. The app's durable client comes back to this host, so the order matters: the sockets
listen before the engine resumes its work, and the server ends only after the engine has drained.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from devhost.bindings import BlobTrigger, QueueTrigger
from devhost.durable.clock import Clock, SystemClock
from devhost.forwarding import make_task
from devhost.http.admin import AdminEndpoint
from devhost.http.app import BodyLimit, FunctionsEndpoint, HostApp
from devhost.http.keys import Keys
from devhost.http.origins import OriginGuard, is_loopback_name
from devhost.http.server import WebServer, port_of, rpc_host, url_host
from devhost.http.sign_in import SignIn
from devhost.invoke import AppFunctions, Invoker
from devhost.loader import HostedApp
from devhost.mcp.endpoint import McpEndpoint
from devhost.mcp.server import McpServer
from devhost.pages import make_pages
from devhost.settings import CorsPolicy
from devhost.timers import Monitor, TimerRunner
from devhost.triggers.connections import Connections
from devhost.triggers.sender import Sender
from devhost.triggers.storage_values import StorageValues

if TYPE_CHECKING:
    from devhost.durable.engine import DurableTask
    from devhost.durable.grpc.service import TaskHubServer
    from devhost.durable.wire import Protocol
    from devhost.triggers.listeners import Listeners

GRACE_SECONDS = 10.0
INTERRUPTED_EXIT_CODE = 130
_ALWAYS_DONE = ("PYTHON_ENABLE_INIT_INDEXING", "PYTHON_ISOLATE_WORKER_DEPENDENCIES")
"""What the real worker does where these settings ask for it, this host does anyway; an app may want to know."""
_SIGNALS = ("SIGINT", "SIGTERM", "SIGBREAK")
_EXIT_SECONDS = 2.0
_COLLECTOR_THRESHOLDS = (20_000, 20, 20)


@dataclass(frozen=True)
class Address:
    """Where the host listens: the host as the user gave it, and the real port."""

    host: str
    port: int

    @property
    def origin(self) -> str:
        """The URL that the developer is shown."""
        return f"http://{url_host(self.host)}:{self.port}"

    @property
    def rpc_base_url(self) -> str:
        """The URL under which the app's durable client reaches the engine."""
        return f"http://{rpc_host(self.host)}:{self.port}/durabletask/"


def address_of(host: str, sockets: Sequence[socket.socket]) -> Address:
    """Return the address of bound sockets."""
    return Address(host, port_of(sockets[0]))


def variables_of_worker(address: Address, folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the real host sets for its worker, where the app is in the folder."""
    of_place = {"WEBSITE_HOSTNAME": address.origin.removeprefix("http://"), "AzureWebJobsScriptRoot": str(folder)}
    defaults = {"AZURE_FUNCTIONS_ENVIRONMENT": "Development", "FUNCTIONS_CORETOOLS_ENVIRONMENT": "true"}
    unset = {name: value for name, value in defaults.items() if name not in environ}
    return {**of_place, **unset, **{name: environ.get(name) or "1" for name in _ALWAYS_DONE}}


class Host:
    """The assembled host."""

    def __init__(
        self,
        app: HostedApp,
        address: Address,
        *,
        verbose: bool,
        keys: Keys | None,
        cors: CorsPolicy | None,
        queue_poll_seconds: float,
        principal: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Assemble; nothing runs yet.

        `keys` None asks for no key, `cors` None adds no CORS header, `principal` None signs nobody in, `clock` None is
        the machine's;
        `queue_poll_seconds` is the longest time between two looks for durable messages of other processes.
        """
        self._started_at = time.monotonic()
        self._clock = clock or SystemClock()
        self._app = app
        self._address = address
        self._keys = keys
        self._client_text = ""
        self._queue_poll_seconds = queue_poll_seconds
        settings = app.settings
        self._connections = Connections(os.environ)
        self._invoker = Invoker(
            settings.threads,
            settings.function_timeout_seconds,
            lambda: self._client_text,
            StorageValues(self._connections, self._clock, is_base64=settings.queues.is_base64),
        )
        self._listeners = self._make_listeners()
        self._engine = self._make_engine() if app.index.uses_durable() else None
        self._clients = self._make_client_server() if app.index.speaks_protobuf() else None
        self._timers = TimerRunner(app.timers, self._invoker, Monitor(settings.engine_folder / "timers"), self._clock)
        self._sender = Sender(self._invoker)
        self._rpc = BodyLimit(self._engine.management, settings.body_limit_bytes) if self._engine else None
        hosted = SignIn(self._make_app(), principal) if principal else self._make_app()
        served = OriginGuard(hosted, cors, is_loopback=is_loopback_name(address.host))
        self._server = WebServer(served, verbose=verbose, grace_seconds=GRACE_SECONDS)

    def _make_engine(self) -> DurableTask:
        from devhost.durable.engine import DurableTask, Role
        from devhost.durable.settings import DurableSettings
        from devhost.durable.store.sqlite import SqliteStore
        from devhost.durable.unkind import VARIABLE, read_unkind

        settings = DurableSettings.from_host_json(self._app.settings.durable_task, os.environ)
        key = self._keys.system["durabletask_extension"] if self._keys else None
        settings = replace(settings, queue_poll_seconds=self._queue_poll_seconds, webhook_key=key)
        functions = AppFunctions(self._app.index, self._invoker)
        group = self._app.group
        role = Role.ALONE if group.works_alone else Role.WORKER if group.works_on_messages else Role.CLIENT
        folder = self._app.settings.engine_folder
        unkind = read_unkind(os.environ.get(VARIABLE, ""))
        engine = DurableTask(
            functions,
            SqliteStore(folder),
            settings,
            self._clock,
            folder=folder,
            role=role,
            protocol=self._protocol(),
            unkind=unkind,
        )
        self._client_text = engine.client_binding(self._address.origin, self._address.rpc_base_url)
        return engine

    def _protocol(self) -> Protocol:
        if not self._app.index.speaks_protobuf():
            from devhost.durable.wire import JSON

            return JSON
        from devhost.durable.grpc.protocol import PROTOBUF

        return PROTOBUF

    def _make_client_server(self) -> TaskHubServer | None:
        if self._engine is None:
            return None
        from devhost.durable.grpc.service import TaskHubServer

        return TaskHubServer(self._engine.hub, self._clock)

    def _make_listeners(self) -> Listeners | None:
        functions = [
            function
            for function in self._app.index.running()
            if isinstance(function.trigger, (QueueTrigger, BlobTrigger)) and self._app.group.listens_for(function)
        ]
        if not functions:
            return None
        from devhost.triggers.listeners import Listeners

        return Listeners(functions, self._connections, self._app.settings, self._invoker, self._clock)

    def _make_app(self) -> ASGIApp:
        app, settings = self._app, self._app.settings
        limit = settings.body_limit_bytes
        mcp = BodyLimit(McpEndpoint(McpServer(settings.mcp, app.mcp, self._invoker)), limit)
        webhooks: dict[str, ASGIApp] = {"mcp": mcp} if app.mcp else {}
        if self._rpc is not None:
            webhooks["durabletask"] = self._rpc
        describe = self._engine.describe if self._engine else None
        pages = make_pages(app, has_engine=self._engine is not None)
        admin = AdminEndpoint(
            app.index,
            settings,
            pages=pages,
            started_at=self._started_at,
            run_now=self._timers.run_now,
            sender=self._sender,
            clock=self._clock,
            describe_engine=describe,
        )
        return HostApp(
            functions=FunctionsEndpoint(app.routes, self._invoker, settings, self._keys),
            admin=BodyLimit(admin, limit),
            webhooks=webhooks,
            rpc=self._rpc,
            keys=self._keys,
        )

    async def run(
        self, sockets: Sequence[socket.socket], announce: Callable[[], None], process: OwnProcess | None = None
    ) -> None:
        """Serve until the process asks to stop, then drain; `announce` is called once requests are answered.

        `process` None is a process of the host's own, which signals ask.

        Raises `devhost.errors.DurableError` before anything is served when the engine cannot have its folder, and at
        the end of a run under which the folder was removed: its work is not kept, and is given no time.
        """
        with ExitStack() as stack:
            if self._rpc is not None and self._clients is None:
                from devhost.durable.management.own_client import answered_here

                stack.enter_context(answered_here(self._rpc, self._address.rpc_base_url))
            await self._run(sockets, announce, process or OwnProcess())

    async def _run(self, sockets: Sequence[socket.socket], announce: Callable[[], None], process: OwnProcess) -> None:
        asyncio.get_running_loop().set_task_factory(make_task)
        stop = process.begin()
        if self._engine is not None and self._clients is not None:
            self._client_text = self._engine.client_binding(self._address.origin, await self._clients.start())
        if self._engine is not None:
            await self._engine.start()
        serving = asyncio.create_task(self._server.serve(sockets=list(sockets)))
        serving.add_done_callback(lambda _: stop.ask())
        await self._server.ready.wait()
        if not serving.done():
            process.spare_what_stays()
            announce()
            self._timers.start()
            if self._listeners is not None:
                self._listeners.start()
        removal = asyncio.create_task(self._engine.until_removed()) if self._engine else None
        if removal is not None:
            removal.add_done_callback(lambda _: stop.ask())
        await stop.wait()
        removed = removal.result() if removal and removal.done() else None
        grace_seconds = 0.0 if removed else process.grace_seconds
        process.say_that_it_stops(is_removed=removed is not None)
        if removal is not None:
            removal.cancel()
        await asyncio.gather(
            self._timers.stop(grace_seconds),
            self._sender.stop(grace_seconds),
            self._stop_listeners(grace_seconds),
            self._stop_engine(grace_seconds),
        )
        self._server.should_exit = True
        await serving
        await self._connections.close()
        self._invoker.close()
        if removed:
            raise removed

    async def _stop_listeners(self, grace_seconds: float) -> None:
        if self._listeners is not None:
            await self._listeners.stop(grace_seconds)

    async def _stop_engine(self, grace_seconds: float) -> None:
        if self._engine is not None:
            await self._engine.stop(grace_seconds)
        if self._clients is not None:
            await self._clients.stop()


class OwnProcess:
    """The process that has nothing else to do than to be this host: signals end it, and memory is its own."""

    grace_seconds = GRACE_SECONDS

    def begin(self) -> StopRequest:
        """Return what asks the host to stop, on the running event loop."""
        stop = StopRequest()
        stop.install()
        return stop

    def spare_what_stays(self) -> None:
        """Keep the garbage collector from walking, amid requests, what start-up made and nothing will free.

        With agent-framework loaded that is some 80,000 objects: a full collection held every request for 20 to 30 ms.
        While they are made it is off (`__main__`), which is a tenth of a start.
        """
        gc.freeze()
        gc.enable()
        gc.set_threshold(*_COLLECTOR_THRESHOLDS)

    def say_that_it_stops(self, *, is_removed: bool) -> None:
        """Print that the host stops, and what becomes of running work."""
        rest = "running work is not kept" if is_removed else f"running work has {self.grace_seconds:.0f} s"
        print(f"Stopping: {rest}. Press Ctrl-C again to stop at once.", flush=True)


class StopRequest:
    """Ctrl-C and SIGTERM: the first asks the host to drain, a second of the same kind stops it where it stands.

    Of the same kind, because one Ctrl-C comes as both under `--watch`: from the terminal, and from the watching
    process. Stopping by the second loses nothing: the engine commits every step.
    """

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._seen: set[int] = set()

    def install(self) -> None:
        """Take over the signals; works on Windows too, where event loops cannot."""
        for name in _SIGNALS:
            if number := getattr(signal, name, None):
                signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number in self._seen:
            os._exit(INTERRUPTED_EXIT_CODE)
        if not self._seen:  # later, the loop may be closed
            self._loop.call_soon_threadsafe(self.ask)
        self._seen.add(number)

    def ask(self) -> None:
        """Ask for the stop, as the first signal does."""
        self._asked.set()

    def ask_from_another_thread(self) -> None:
        """Ask for the stop in any thread; nothing where the event loop has ended."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.ask)

    async def wait(self) -> None:
        """Return when a stop was asked for."""
        await self._asked.wait()


def end_process_soon(exit_code: int) -> None:
    """End the process a little later even when the app's own threads still run: no thread can be stopped."""
    timer = threading.Timer(_EXIT_SECONDS, os._exit, (exit_code,))
    timer.daemon = True
    timer.start()
