"""Activities: one invocation of the app's function, or of the engine's own for HTTP requests.

`call_http` is the activity `BuiltIn::HttpActivity`. Whatever the server answers is the result, a 202 with its Location
too: the SDK does not know the ids that polling would take. Only a request that gets no answer fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from email.message import Message
from typing import Any

from devhost.durable.answers import HTTP_ACTIVITY, timeout_text
from devhost.durable.clock import Clock
from devhost.durable.crash import crash_points
from devhost.durable.events import TaskCompleted, TaskFailed
from devhost.durable.records import ActivityTask, EventMessage, Inbox, Outgoing, Step, Target, orchestration_target
from devhost.durable.texts import compact, recompact
from devhost.durable.wire import Protocol
from devhost.durable.worker import Done, Outcome, bodies, seqs
from devhost.ports import DurableFunctions, FunctionFailedError, FunctionNames, is_missing

_TIMEOUT_SECONDS = 100.0
_CONTENT_HEADERS = frozenset(
    {"allow", "expires", "last-modified"}
    | {f"content-{name}" for name in ("disposition", "encoding", "language", "length", "location", "md5", "range")}
    | {"content-type"}
)


class Activities:
    """Runs one activity. At least once: an activity that was cut off runs again after a restart."""

    most_messages = 1

    def __init__(self, functions: DurableFunctions, names: FunctionNames, clock: Clock, *, protocol: Protocol) -> None:
        self._protocol = protocol
        self._functions = functions
        self._names = names
        self._clock = clock

    async def process(self, target: Target, inbox: Inbox) -> Outcome:
        (task,) = bodies(inbox.messages, ActivityTask)
        event = await self._run(task)
        reply = Outgoing(orchestration_target(task.caller_id), EventMessage(event, task.caller_execution_id))
        return Done(Step(seqs(inbox.messages), produced=(reply,)))

    async def _run(self, task: ActivityTask) -> TaskCompleted | TaskFailed:
        is_http = task.name == HTTP_ACTIVITY
        if not is_http and is_missing(self._names, "activity", task.name):
            return self._failed(task, f"Activity function '{task.name}' does not exist.")
        crash_points.reached("before-activity")
        try:
            text = await (call_http(task.input) if is_http else self._call(task))
        except HttpFailedError as error:
            details = f"Unhandled exception while executing task: {error}"
            return TaskFailed(timestamp=self._clock.now(), task_id=task.task_id, reason=str(error), details=details)
        except FunctionFailedError as failure:
            return self._failed(task, timeout_text(failure.message) or failure.message)
        crash_points.reached("after-activity")
        result = text if is_http else _result(text)
        return TaskCompleted(timestamp=self._clock.now(), task_id=task.task_id, result=result)

    async def _call(self, task: ActivityTask) -> str:
        return await self._functions.call("activity", task.name, self._protocol.write_activity(task))

    def _failed(self, task: ActivityTask, error: str) -> TaskFailed:
        reason = f"Activity function '{task.name}' failed: {error}"
        return TaskFailed(timestamp=self._clock.now(), task_id=task.task_id, reason=reason, details=error)


def _result(text: str) -> str:
    try:
        return recompact(text)
    except ValueError:
        return text


class HttpFailedError(Exception):
    """The request could not be made, or got no answer; the message is the task's failure."""


async def call_http(request: str) -> str:
    """Make the request that the JSON text describes and return the answer as JSON text; raises `HttpFailedError`.

    Follows redirects, and waits up to 100 s, as the .NET client does.
    """
    return await _in_thread(lambda: _send(_read_request(json.loads(request))))


def _read_request(wire: Mapping[str, Any]) -> urllib.request.Request:
    headers = {name: _joined(value) for name, value in (wire.get("headers") or {}).items()}
    content_type = next((value for name, value in headers.items() if name.lower() == "content-type"), None)
    if wire.get("tokenSource"):
        raise HttpFailedError("This local host has no managed identity: call_http with a token source needs Azure.")
    if content_type is not None and "multipart" in content_type:
        raise HttpFailedError("Multipart content is not supported with CallHttpAsync.")
    if not wire["uri"].lower().startswith(("http://", "https://")):
        raise HttpFailedError("Only 'http' and 'https' schemes are allowed. (Parameter 'value')")
    content = wire.get("content")
    if content is not None and content_type is None:
        headers["Content-Type"] = "text/plain"
    body = None if content is None else content.encode()
    return urllib.request.Request(wire["uri"], body, headers, method=wire["method"].upper())


def _joined(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _send(request: urllib.request.Request) -> str:
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            return _read_response(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as refusal:
        # An answer like any other: its status is the orchestrator's business.
        with refusal:
            return _read_response(refusal.code, refusal.headers, refusal.read())
    except TimeoutError as error:
        raise HttpFailedError(
            f"The request was canceled due to the configured HttpClient.Timeout of {_TIMEOUT_SECONDS:.0f} seconds "
            "elapsing."
        ) from error
    except urllib.error.URLError as error:
        raise HttpFailedError(f"{_text(error.reason)} ({request.host})") from error
    except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
        raise HttpFailedError(f"An error occurred while sending the request: {_text(error)}") from error


def _text(reason: object) -> str:
    return str(getattr(reason, "strerror", None) or reason)


def _read_response(status: int, received: Message, body: bytes) -> str:
    headers: dict[str, str | list[str]] = {}
    for name in dict.fromkeys(received.keys()):
        values = received.get_all(name, [])
        if name.lower() not in _CONTENT_HEADERS:
            headers[name] = values[0] if len(values) == 1 else values
    charset = received.get_content_charset() or "utf-8"
    content = body.decode(charset, errors="replace")
    return compact({"statusCode": status, "headers": headers, "content": content})


async def _in_thread(work: Callable[[], str]) -> str:
    """Return what the work returns. Not a pool's thread: one that still waits for a server must not hold up an exit."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str] = loop.create_future()

    def end(settle: Callable[[Any], None], value: object) -> None:
        if not done.done():
            settle(value)

    def run() -> None:
        try:
            outcome: tuple[Callable[[Any], None], object] = (done.set_result, work())
        except Exception as error:
            outcome = (done.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(end, *outcome)

    threading.Thread(target=run, name="durable-http", daemon=True).start()
    return await done
