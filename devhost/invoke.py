"""Run one function: sync ones in the worker's thread pool, async ones on the event loop (host contract 1.5, 1.7)."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType

from devhost.failures import failure_of
from devhost.index import Function
from devhost.ports import FunctionFailedError

logger = logging.getLogger(__name__)
_thread_local_storage = threading.local()


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
    thread_local_storage: threading.local = _thread_local_storage
    trace_context: TraceContext = TraceContext()
    retry_context: RetryContext = RetryContext()


class Deadline:
    """Cancels the awaiting task after a time and turns that cancellation into `FunctionFailedError`.

    A context manager instead of `asyncio.wait_for`, which starts a task per call: this one is on every request.
    """

    def __init__(self, function_name: str, seconds: float | None) -> None:
        self._function_name = function_name
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._expired = False

    def __enter__(self) -> None:
        if self._seconds is not None:
            task = asyncio.current_task()
            assert task is not None
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._expire, task)

    def _expire(self, task: asyncio.Task[object]) -> None:
        self._expired = True
        task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._expired and kind is asyncio.CancelledError:
            text = f"Timeout value of {_as_timespan(self._seconds or 0)} was exceeded by function: "
            raise FunctionFailedError(f"FunctionTimeoutException: {text}Functions.{self._function_name}") from error


def _as_timespan(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"


class Invoker:
    """Calls the app's functions. `client_binding` gives the text that durable client inputs receive."""

    def __init__(self, threads: int | None, timeout_seconds: float | None, client_binding: Callable[[], str]) -> None:
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="function")
        self._timeout_seconds = timeout_seconds
        self._client_binding = client_binding

    async def call(self, function: Function, trigger_value: object, invocation_id: str) -> object:
        """Return what the function returned, unconverted; raise `FunctionFailedError` for whatever it raised.

        A sync function that runs past the timeout is answered as failed, but its thread cannot be stopped and keeps
        its place in the pool until it returns.
        """
        arguments = self._arguments(function, trigger_value, invocation_id)
        try:
            with Deadline(function.name, self._timeout_seconds):
                if function.is_async:
                    result = await function.handler(**arguments)
                else:
                    result = await self._in_thread(function, arguments, invocation_id)
        except FunctionFailedError as error:
            logger.error("Function '%s' failed (invocation %s): %s", function.name, invocation_id, error.message)
            raise
        except (Exception, SystemExit) as error:
            logger.exception("Function '%s' failed (invocation %s)", function.name, invocation_id)
            raise failure_of(error) from error
        if result is not None and function.output is None:
            text = f"function {function.name!r} without a $return binding returned a non-None value"
            raise FunctionFailedError(f"RuntimeError: {text}")
        return result

    def _arguments(self, function: Function, trigger_value: object, invocation_id: str) -> dict[str, object]:
        arguments: dict[str, object] = {function.trigger_parameter: trigger_value}
        for parameter in function.client_parameters:
            arguments[parameter] = self._client_binding()
        if function.wants_context:
            arguments["context"] = InvocationContext(invocation_id, function.name, function.directory)
        return arguments

    def _in_thread(self, function: Function, arguments: Mapping[str, object], invocation_id: str) -> Awaitable[object]:
        def run() -> object:
            _thread_local_storage.invocation_id = invocation_id
            try:
                return function.handler(**arguments)
            finally:
                _thread_local_storage.invocation_id = None

        return asyncio.get_running_loop().run_in_executor(self._pool, run)

    def close(self) -> None:
        """Take no new sync calls; the running ones end by themselves or with the process."""
        self._pool.shutdown(wait=False, cancel_futures=True)
