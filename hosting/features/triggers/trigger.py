"""`@app.agent_trigger`: each delivery of a trigger is one run, whatever is delivered again, retried or killed.

Theory. The delivery's identity is the idempotency key of its run, so a delivery that comes again finds the run that the
first one began: one that goes on, or has ended. The first one that was accepted stands, also where the function would
say something else the second time. A delivery is done once its run has ended with an answer, and what `on_end` makes of
it is written by the platform after that: at least once. A delivery whose run cannot begin now waits for a moment before
it fails, because some triggers deliver it five times at once and then give it up.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from typing_extensions import TypedDict

from hosting.core.services import Services
from hosting.core.thread.rows import KeyRow
from hosting.errors import (
    ConfigurationError,
    HostingError,
    IdempotencyKeyReusedError,
    InvalidFieldError,
    ShuttingDownError,
    ThreadBusyError,
    ThreadDeletedError,
    ThreadDeletingError,
)
from hosting.features.triggers.client import AgentRun, AppClient
from hosting.features.triggers.deliveries import KINDS, TriggerDelivery, read_delivery
from hosting.invocation import current_invocation
from hosting.metadata import Metadata, Value
from hosting.model_options import read_chosen
from hosting.names import Address, Busy, keyed_thread_id
from hosting.principal import Principal, owner_of

LEAST_PAUSE_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 30.0
PATIENCE_SECONDS = 120.0
"""After so long a delivery fails that a limit, a busy thread or a store that is away refuses, and what it pauses."""


class AgentRequest(Struct, frozen=True):
    """A message with more than its text: the thread and the owner of its run, and the address to notify of its end.

    `options` are those of the model, in place of the trigger's own. The `context`, `metadata` and `thread_metadata` are
    those of a request to the agent.

    Without a message it is the body of the delivery. The thread and the owner follow from the delivery alone: they are
    the same when it comes again.
    """

    message: Any = None
    thread_id: str | None = None
    owner: Principal | None = None
    webhook: str | None = None
    options: Mapping[str, Any] | None = None
    context: Mapping[str, Any] | None = None
    metadata: Metadata | None = None
    thread_metadata: Mapping[str, Value | None] | None = None


class _Skip:
    def __repr__(self) -> str:
        return "SKIP"


SKIP = _Skip()
"""What a function returns for a delivery that begins no run."""


class TriggerOptions(TypedDict, total=False):
    """The options of `@app.agent_trigger`.

    `thread_by` is the member of a JSON body that has the thread id, or a function of the delivery that returns it, and
    `key_by` a function that returns what says that two deliveries are one, instead of what the platform says. With
    `wait=False` a delivery is done once its run is accepted. `on_end` takes the run that has ended with an answer, and
    returns what the function's output bindings get. `busy`, `webhook` and `options` are those of the run.
    """

    thread_by: str | Callable[[Any], str | None] | None
    key_by: Callable[[Any], str] | None
    wait: bool
    on_end: Callable[[AgentRun], Any] | None
    busy: Busy | None
    webhook: str | None
    options: Mapping[str, Any] | None


class AgentTrigger:
    """The runs of one function's deliveries. `pause` waits so many seconds."""

    def __init__(
        self,
        services: Services,
        client: AppClient,
        agent: str,
        options: TriggerOptions,
        *,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Raise `ConfigurationError` for options that cannot go together."""
        self._services, self._client, self._agent, self._pause = services, client, agent, pause
        self._options = options
        self._waits = options.get("wait", True)
        self._outputs: Sequence[str] = ()
        for name in options:
            if name not in TriggerOptions.__annotations__:
                known = ", ".join(TriggerOptions.__annotations__)
                raise ConfigurationError(f"agent_trigger has no option {name!r}. Its options: {known}.")
        if not isinstance(self._waits, bool):
            raise ConfigurationError(f"wait of an agent_trigger is {self._waits!r:.80}. Give True or False.")
        if options.get("on_end") is not None and not self._waits:
            raise ConfigurationError(
                "An agent_trigger has on_end and wait=False: its function does not see the end. Leave one of them out, "
                "or have a webhook notified."
            )

    def check(self, function: str, kind: str, outputs: Sequence[str]) -> None:
        """Take up the function and its output bindings; raise `ConfigurationError` where it can begin no run."""
        if kind not in KINDS:
            raise ConfigurationError(
                f"The function {function!r} is an agent_trigger, and its trigger is a {kind}. Give it one of: "
                f"{', '.join(KINDS)}."
            )
        try:
            declared = self._client.planned(self._agent).options.model_options
            read_chosen(self._options.get("options"), declared or {})
        except HostingError as error:
            raise ConfigurationError(f"The function {function!r} is an agent_trigger. {error.detail}") from None
        if outputs and self._options.get("on_end") is None:
            raise ConfigurationError(
                f"The function {function!r} has the output {outputs[0]!r}, and nothing writes to it. Give its "
                "agent_trigger on_end=, or the function this parameter."
            )
        self._outputs = outputs

    async def deliver(
        self, function: str, kind: str, values: Sequence[Any], make: Callable[[Any], Awaitable[Any]]
    ) -> Mapping[str, Any]:
        """Return what the outputs get, by their names, once each of the values has its run, and it has ended.

        The runs begin in the order of the values. Raises what keeps one from its end, once the others have theirs: the
        delivery then comes again. Behind one that can begin none now, none begins: it may be the next of its thread.
        """
        ends_at = time.monotonic() + self._services.working_seconds
        wait = self._waits and len(values) == 1
        started, refusals = list[AgentRun | None](), list[Exception]()
        for value in values:
            try:
                started.append(await self._start(function, kind, value, make, wait=wait))
            except Exception as error:
                if isinstance(error, HostingError) and (_is_temporary(error) or isinstance(error, ShuttingDownError)):
                    raise
                refusals.append(error)
        ended = await asyncio.gather(*(self._end(run, ends_at) for run in started), return_exceptions=True)
        for failure in [*refusals, *ended]:
            if isinstance(failure, BaseException):
                raise failure
        return self._outputs_of([value for value in ended if value is not None])

    async def _start(
        self, function: str, kind: str, value: Any, make: Callable[[Any], Awaitable[Any]], *, wait: bool
    ) -> AgentRun | None:
        """Return the run of a delivery; None where it has none, or no more."""
        invocation = current_invocation()
        delivery = read_delivery(kind, value, "" if invocation is None else invocation.id)
        made = await make(value)
        if made is SKIP:
            return None
        request = made if isinstance(made, AgentRequest) else AgentRequest(made)
        thread_id = request.thread_id or self._thread_id(delivery, value)
        name = None if (key_by := self._options.get("key_by")) is None else str(key_by(value))
        message, key, paused_seconds = _message_of(request, delivery), delivery.key(function, name), 0.0
        while True:
            try:
                return await self._begin(message, request, thread_id, key, wait=wait)
            except HostingError as error:
                if not _is_temporary(error) or paused_seconds >= PATIENCE_SECONDS:
                    raise
                seconds = min(max(error.retry_after_seconds, LEAST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
            await self._pause(seconds)
            paused_seconds += seconds

    async def _begin(
        self, message: Any, request: AgentRequest, thread_id: str | None, key: str, *, wait: bool
    ) -> AgentRun | None:
        try:
            return await self._client.run(
                self._agent,
                message,
                thread_id=thread_id,
                key=key,
                owner=request.owner,
                webhook=request.webhook or self._options.get("webhook"),
                busy=self._options.get("busy"),
                wait=wait,
                options=self._options.get("options") if request.options is None else request.options,
                context=request.context,
                metadata=request.metadata,
                thread_metadata=request.thread_metadata,
            )
        except IdempotencyKeyReusedError:
            return await self._begun(thread_id, request.owner, key)
        except ThreadDeletedError:
            return None

    def _thread_id(self, delivery: TriggerDelivery, value: Any) -> str | None:
        thread_by = self._options.get("thread_by")
        if thread_by is None:
            return delivery.session
        return delivery.member(thread_by) if isinstance(thread_by, str) else thread_by(value)

    async def _begun(self, thread_id: str | None, owner: Principal | None, key: str) -> AgentRun:
        """Return the run that a key began with another message: the function made something else the first time."""
        log = self._services.log
        thread_id = thread_id or keyed_thread_id(self._client.planned(self._agent).name, owner_of(owner), key)
        address = Address.of(self._agent, thread_id, owner_of(owner))
        row = await log.row(address, KeyRow, key, await log.head(address))
        if not isinstance(row, KeyRow) or row.run_id is None:
            raise IdempotencyKeyReusedError("The delivery's run was withdrawn while it came again.")
        run = AgentRun(self._agent, thread_id, row.run_id, owner)
        return await self._client.result(run, wait=False)

    async def _end(self, run: AgentRun | None, ends_at: float) -> Any:
        """Return what `on_end` makes of the run once it has ended; raises where it has no answer, or not in time."""
        if run is None or not self._waits:
            return None
        try:
            run = await self._client.until_end(run, ends_at - time.monotonic())
        except ThreadDeletedError:
            return None
        if not run.is_over:
            raise ShuttingDownError(f"Run {run.run_id} goes on. The delivery finds it again when it comes again.")
        _ = run.response
        on_end = self._options.get("on_end")
        value = None if on_end is None else on_end(run)
        return await value if isinstance(value, Awaitable) else value

    def _outputs_of(self, values: Sequence[Any]) -> Mapping[str, Any]:
        """Return what each output gets: of several deliveries a list."""
        if not self._outputs:
            return {}
        named = [value if len(self._outputs) > 1 else {self._outputs[0]: value} for value in values]
        outputs = dict[str, Any]()
        for value in named:
            if not isinstance(value, Mapping) or not value.keys() <= set(self._outputs):
                names = ", ".join(map(repr, self._outputs))
                raise TypeError(
                    f"on_end returned {type(value).__name__}. Return a dict by the names of outputs: {names}."
                )
            for name, item in value.items():
                outputs.setdefault(name, []).append(_sendable(item))
        return {name: items[0] if len(items) == 1 else items for name, items in outputs.items()}


def _is_temporary(error: HostingError) -> bool:
    """Return whether the same delivery may be accepted soon, by this process."""
    if isinstance(error, ShuttingDownError):
        return False
    return error.status in (429, 503) or isinstance(error, ThreadBusyError | ThreadDeletingError)


def _message_of(request: AgentRequest, delivery: TriggerDelivery) -> Any:
    if request.message is not None:
        return request.message
    if delivery.text is None:
        raise InvalidFieldError("A tick has no body that could be the message. Return the message from the function.")
    return delivery.text


def _sendable(value: Any) -> Any:
    """Return a value as an output binding takes it: an object as JSON text."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else value
