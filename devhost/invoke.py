"""Calls the app's functions: sync ones in the worker's thread pool, async ones on the loop."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from devhost.bindings import DurableTrigger
from devhost.converters import WireKind, decode_text, encode_result
from devhost.durable.texts import well_formed
from devhost.forwarding import THREAD_STORAGE, filed_under, mark_task
from devhost.index import Function, FunctionIndex
from devhost.isolation import Raised, Returned, TimedOut, run_apart, run_caught
from devhost.ports import DurableKind, FunctionFailedError

if TYPE_CHECKING:
    from devhost.triggers.paths import TriggerData
    from devhost.triggers.storage_values import StorageValues

logger = logging.getLogger(__name__)
_INPUT_KIND: Mapping[DurableKind, WireKind] = {"orchestrator": "string", "activity": "json", "entity": "string"}


@dataclass(frozen=True)
class TraceContext:
    """The trace of the invocation, under both spellings that the worker's class offers; nothing is traced here."""

    Traceparent: str = ""
    Tracestate: str = ""
    Attributes: Mapping[str, str] = field(default_factory=dict)
    trace_parent: str = ""
    trace_state: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RetryContext:
    """How often the invocation was retried; this host does not retry invocations."""

    retry_count: int = 0
    max_retry_count: int = 0
    exception: object = None


@dataclass(frozen=True)
class InvocationContext:
    """What a parameter called `context` receives when it is not bound."""

    invocation_id: str
    function_name: str
    function_directory: str
    thread_local_storage: threading.local = THREAD_STORAGE
    trace_context: TraceContext = TraceContext()
    retry_context: RetryContext = RetryContext()


class Invoker:
    """Calls the app's functions. `client_binding` gives the text that durable client inputs receive.

    `storage` reads and writes the queues and blobs that they are bound to, None where there are none.
    """

    def __init__(
        self,
        threads: int | None,
        timeout_seconds: float | None,
        client_binding: Callable[[], str],
        storage: StorageValues | None = None,
    ) -> None:
        self._storage = storage
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="function")
        self._timeout_seconds = timeout_seconds
        self._client_binding = client_binding

    async def call(
        self, function: Function, trigger_value: object, invocation_id: str, members: TriggerData | None = None
    ) -> object:
        """Return what the function returned, unconverted; raise `FunctionFailedError` for whatever it raised.

        `members` are what the trigger says of itself, by which paths of blobs and queues are filled in. What the
        function returns for a queue or blob is written there and not returned.
        A sync function that runs past the timeout is answered as failed, but its thread cannot be stopped and keeps
        its place in the pool until it returns.
        """
        if function.storage:
            return await self._call_with_storage(function, trigger_value, invocation_id, members or {})
        return await self._call(function, self._arguments(function, trigger_value, invocation_id), invocation_id)

    async def _call_with_storage(
        self, function: Function, trigger_value: object, invocation_id: str, members: TriggerData
    ) -> object:
        """Call between the reading of its inputs and the writing of its outputs."""
        assert self._storage is not None
        arguments = self._arguments(function, trigger_value, invocation_id)
        try:
            arguments |= await self._storage.arguments(function, members)
        except FunctionFailedError as error:
            logger.error("Function '%s' was not called: %s", function.name, error.message)
            raise
        result = await self._call(function, arguments, invocation_id)
        try:
            await self._storage.write(function, arguments, result, members)
        except FunctionFailedError as error:
            logger.error("Function '%s' failed (invocation %s): %s", function.name, invocation_id, error.message)
            raise
        return None if function.returns_to_storage else result

    async def _call(self, function: Function, arguments: Mapping[str, object], invocation_id: str) -> object:
        ended: Returned | Raised | TimedOut
        with filed_under(function.name, invocation_id):
            if function.is_async:
                ended = await run_apart(lambda: _marked(function, arguments, invocation_id), self._timeout_seconds)
            else:
                ended = await self._in_thread(function, arguments, invocation_id)
        match ended:
            case Returned(None):
                return None
            case Returned(result):
                if function.output is None and not function.returns_to_storage:
                    text = f"function {function.name!r} without a $return binding returned a non-None value"
                    raise FunctionFailedError(f"RuntimeError: {text}")
                return result
            case Raised(ClientDisconnect() as error):
                # No fault of the function's. Whoever gave it the body has logged it.
                raise FunctionFailedError.of(error) from error
            case Raised(error):
                logger.error("Function '%s' failed (invocation %s)", function.name, invocation_id, exc_info=error)
                raise FunctionFailedError.of(error) from error
            case TimedOut():
                message = _timeout_message(function.name, self._timeout_seconds or 0)
                logger.error("Function '%s' failed (invocation %s): %s", function.name, invocation_id, message)
                raise FunctionFailedError(message)

    def _arguments(self, function: Function, trigger_value: object, invocation_id: str) -> dict[str, object]:
        arguments: dict[str, object] = {function.trigger_parameter: trigger_value}
        for parameter in function.client_parameters:
            arguments[parameter] = self._client_binding()
        if function.wants_context:
            arguments["context"] = InvocationContext(invocation_id, function.name, function.directory)
        return arguments

    async def _in_thread(
        self, function: Function, arguments: Mapping[str, object], invocation_id: str
    ) -> Returned | Raised | TimedOut:
        def run() -> Returned | Raised:
            THREAD_STORAGE.invocation_id = invocation_id
            try:
                return run_caught(lambda: function.handler(**arguments))
            finally:
                THREAD_STORAGE.invocation_id = None

        future = asyncio.get_running_loop().run_in_executor(self._pool, run)
        try:
            await asyncio.wait((future,), timeout=self._timeout_seconds)
            return future.result() if future.done() else TimedOut()
        finally:
            # A call that still waits for a thread need not be made any more.
            future.cancel()

    def close(self) -> None:
        """Take no new sync calls; the running ones end by themselves or with the process."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _marked(function: Function, arguments: Mapping[str, object], invocation_id: str) -> object:
    mark_task(invocation_id)
    return await function.handler(**arguments)


def _timeout_message(function_name: str, seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    span = f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"
    return f"FunctionTimeoutException: Timeout value of {span} was exceeded by function: Functions.{function_name}"


class AppFunctions:
    """Implements `devhost.ports.DurableFunctions`: the app's durable functions, called through the SDK's converters."""

    def __init__(self, index: FunctionIndex, invoker: Invoker) -> None:
        self._invoker = invoker
        self._functions: dict[tuple[DurableKind, str], Function] = {}
        self._names: dict[DurableKind, dict[str, str]] = {"orchestrator": {}, "activity": {}, "entity": {}}
        for function in index.running():
            if isinstance(function.trigger, DurableTrigger):
                self._add(function, function.trigger)

    def _add(self, function: Function, trigger: DurableTrigger) -> None:
        key = trigger.durable_name.lower()
        self._functions[trigger.kind, key] = function
        self._names[trigger.kind][key] = trigger.durable_name

    def names(self, kind: DurableKind) -> Mapping[str, str]:
        """See `DurableFunctions.names`."""
        return self._names[kind]

    async def call(self, kind: DurableKind, name: str, payload: str) -> str:
        """See `DurableFunctions.call`; texts of the app are made well formed here, before anything is stored."""
        function = self._functions[kind, name.lower()]
        value = decode_text(function.trigger_type, payload, _INPUT_KIND[kind])
        try:
            result = await self._invoker.call(function, value, str(uuid.uuid4()))
        except FunctionFailedError as failure:
            message = well_formed(failure.message)
            raise FunctionFailedError(message, failure.stack, is_exit=failure.is_exit) from failure
        answer = encode_result(function.trigger_type, result).value
        if not isinstance(answer, str):
            found = f"'{function.name}' must answer a text, but answered {type(answer).__name__}"
            raise FunctionFailedError(f"TypeError: the function {found}")
        return well_formed(answer)
