"""For the code in `agents/`: a tool's view of its call, its declarations, and its access to the engine.

    from hosting.tools import current, destructive, idempotent

    @idempotent
    def get_weather(city: str) -> str: ...

    @destructive
    def delete_account(name: str) -> str: ...

    def charge(amount: int) -> str:
        return payments.charge(amount, idempotency_key=current().call_key)

Beside tools, `current()` works in context providers, middleware and executors, which have no call. Its `context` is
what the run's caller gave it.

An MCP server gets the call's key in the request's `_meta`, as `durable-agents/call-key`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import dataclasses
import functools
import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from msgspec import Struct

from hosting.errors import EngineUnavailableError
from hosting.names import APP, is_id
from hosting.ports import ClockClient, OrchestrationClient, OrchestrationStatus
from hosting.principal import Principal
from hosting.progress import report_progress

if TYPE_CHECKING:
    from hosting.user_tokens import UserToken

MCP_CALL_KEY = "durable-agents/call-key"
IDEMPOTENT = "__durable_idempotent__"
DESTRUCTIVE = "__durable_destructive__"
NO_DEFAULT: Any = object()
"""The default of a question that has none: None may be one."""
_ID_LENGTH = 32
_CLASS_KEY = '"__class__"'
M = TypeVar("M", bound=Callable[..., Any])
R = TypeVar("R")
T = TypeVar("T", bound=Callable[..., Any] | Any)


class CallPausedError(BaseException):
    """Takes a tool out of its code at a question, also past its own `except Exception`."""


class Pauses(Protocol):
    """The questions and steps of a tool call. It `may_pause` if it may be made again after an answer."""

    @property
    def may_pause(self) -> bool:
        """See `ToolCall.may_pause`."""

    @property
    def is_over(self) -> bool:
        """See `ToolCall.is_over`."""

    def ask(self, question: str, schema: Any, seconds: float | None, default: Any) -> Awaitable[Any]:
        """See `ToolCall.ask`."""

    def authorization(
        self, service: str, url: str, scopes: Iterable[str], seconds: float | None, claims: str | None
    ) -> Awaitable[None]:
        """See `ToolCall.authorization`."""

    def step(
        self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...], call: ToolCall
    ) -> Awaitable[Any]:
        """See `ToolCall.step`."""


@dataclass(frozen=True)
class ToolCall:
    """The call that runs now. `call_key` is the same on every attempt of the run, and no other call has it.

    `principal` is the caller of the agent, None where nobody is signed in. `owner` is whose thread it is, "app" in an
    app without owners: two owners' threads may have one id, and `thread_key` is that of no other thread.
    `run_context` is the context of the run as it is stored; read `context`.
    """

    agent: str
    thread_id: str
    run_id: str
    call_key: str
    principal: Principal | None = None
    owner: str = APP
    thread_key: str = ""
    pauses: Pauses | None = dataclasses.field(default=None, repr=False, compare=False)
    run_context: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def context(self) -> dict[str, Any]:
        """The `context` that the run's caller sent, in a copy of your own; empty if there is none.

        It is the same on every attempt of the run, and the model does not get it.
        """
        return copy.deepcopy(dict(self.run_context))

    def ask(
        self, question: str, *, schema: Any = str, seconds: float | None = None, default: Any = NO_DEFAULT
    ) -> Awaitable[Any]:
        """Return a person's answer, now or in a week: the run ends with the question, and a later one has the answer.

        That run calls the tool again from its beginning, so it must be `idempotent`; the n-th question of the call has
        the n-th answer. The answer is of `schema`, a JSON Schema or a type. Await it in an asynchronous tool.

        After so many `seconds` without an answer the run goes on with the `default`. Without one the question expires.
        """
        return self._pauses("ask").ask(question, schema, seconds, default)

    def authorization(
        self,
        service: str,
        *,
        url: str,
        scopes: Iterable[str] = (),
        seconds: float | None = None,
        claims: str | None = None,
    ) -> Awaitable[None]:
        """Return once the user confirms the sign-in at `url`: the run ends with that request, as with `ask`.

        The user is `principal`, or the thread's owner where nobody began the run; nobody else may answer. No token
        comes this way: look for it where the service's answer brought it, and call this again while there is none. If
        the user refuses, or does not answer within so many `seconds`, the call is not made again. `claims` are those
        that the sign-in must give: the JSON of a claims challenge, as the service's answer has it.
        """
        return self._pauses("authorization").authorization(service, url, scopes, seconds, claims)

    async def user_token(self, audience: str, *, or_app: bool = False) -> UserToken:
        """Return a token with which to call the service `audience` with the rights of the user: `principal`.

        It is there in the process that got the user's own token with the request that began the run, while that token
        lasts. Otherwise a call that may be made again pauses as for `authorization`, until the same user comes back;
        any other gets the error. With `or_app` the app's own identity is enough then.

        Raises `hosting.user_tokens.UserTokenError`, before anything is done.
        """
        from hosting.user_tokens import token_for

        return await token_for(self, audience, or_app=or_app)

    def progress(self, share: float, text: str = "") -> Awaitable[None]:
        """Report to the readers of the run how far it is: a share from 0 to 1, and a text of at most 200 characters.

        They have it on streams, with the run's status and on the page; the model does not get it. It returns at once,
        so call it as often as you like: of what comes within a second the newest is kept. Code that is not asynchronous
        calls it without `await`. Within an attempt of the run the share does not fall.

        Raises `ValueError` for a share or a text that is none, and `LookupError` outside of a run, or after its end.
        """
        return report_progress(share, text)

    @property
    def may_pause(self) -> bool:
        """Whether the call may wait for a person: it is one of the agent itself, of a tool that is `idempotent`."""
        return self.pauses is not None and self.pauses.may_pause

    @property
    def is_over(self) -> bool:
        """Whether the call has ended, and this is code that it left behind."""
        return self.pauses is not None and self.pauses.is_over

    def step(self, name: str, function: Callable[..., Any], *arguments: Any) -> Awaitable[Any]:
        """Return the function's result, which is recorded once: a call that is made again gets it from the record.

        The result is plain JSON values. A step that the end of the process cut off is made again if its function is
        `idempotent`; otherwise the run ends, or the step raises `StepCutOffError`, as for tools.
        """
        return self._pauses("step").step(name, function, arguments, self)

    def _pauses(self, verb: str) -> Pauses:
        if self.pauses is None:
            raise LookupError(f"current().{verb}() works only in a tool, and not within a step.")
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise LookupError(f"current().{verb}() needs an asynchronous tool. Make it 'async def'.") from None
        return self.pauses

    @property
    def orchestrations(self) -> Orchestrations:
        """The app's orchestrations, for this call; raises `LookupError` where the host has none."""
        try:
            return Orchestrations(ENGINE.get(), self.call_key)
        except LookupError:
            raise LookupError("Tools cannot start orchestrations here; in a Functions app they can.") from None


class RunAtWork(Struct, frozen=True):
    """The run for which code works that is in none of its tool calls; the members are those of `ToolCall`."""

    agent: str
    thread_id: str
    run_id: str
    principal: Principal | None
    owner: str
    thread_key: str
    context: Mapping[str, Any]


class _WithoutCall(ToolCall):
    """A run as its context providers, middleware and executors have it: there is no call, and so no key of one."""

    __repr__ = object.__repr__

    @property
    def call_key(self) -> str:
        """Raises `LookupError`: an empty key would be the key of every such place."""
        raise LookupError("current().call_key is there only in a tool call. Use current().run_id and a name of yours.")

    @call_key.setter
    def call_key(self, key: str) -> None:
        """Take what the class above sets."""


AT_WORK: ContextVar[ToolCall | RunAtWork | None] = ContextVar("hosting_at_work", default=None)
"""Set to the run where its attempt begins, to the call where a tool does, and to None for what outlives them."""


def current() -> ToolCall:
    """Return the current tool call, or in a provider, middleware or executor the run, which has no `call_key`.

    Raises `LookupError` where no run of this app is at work.
    """
    if (work := AT_WORK.get()) is None:
        raise LookupError("hosting.tools.current() works only inside a run of this app's agents.")
    if isinstance(work, ToolCall):
        return work
    ids = (work.agent, work.thread_id, work.run_id, "")
    return _WithoutCall(*ids, work.principal, work.owner, work.thread_key, run_context=work.context)


def enter(call: ToolCall) -> Token[ToolCall | RunAtWork | None]:
    """Make `call` the result of `current`, in this task and the threads that it starts."""
    return AT_WORK.set(call)


def leave(token: Token[ToolCall | RunAtWork | None]) -> None:
    """Take back what `enter` did."""
    AT_WORK.reset(token)


class StepCutOffError(Exception):
    """A step of a workflow's function, or of a tool, was cut off by the end of its process, and is not run again.

    It may have done its work. The app's settings say whether the function gets this, or its run ends.
    """


def idempotent(tool: T) -> T:
    """Declare that calling the tool again does no harm, so a call that a crash cut short is made again.

    Takes a function, or a tool of agent-framework; an MCP tool (`MCPStdioTool` and its like) stands for all tools of
    its server. Every other tool is called at most once.
    """
    setattr(tool, IDEMPOTENT, True)
    return tool


def destructive(tool: T) -> T:
    """Declare that the tool's effect cannot be taken back, so whoever approves a call of it knows.

    Takes what `idempotent` takes.
    """
    setattr(tool, DESTRUCTIVE, True)
    return tool


class Engine(Struct, frozen=True):
    """The durable client of the function that runs now, and the loop that it belongs to."""

    client: ClockClient
    loop: asyncio.AbstractEventLoop

    def run(self, work: Coroutine[Any, Any, R]) -> concurrent.futures.Future[R]:
        """Run the work on the client's loop: a tool runs on the agents' loop or in a thread of its own."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)


ENGINE: ContextVar[Engine] = ContextVar("hosting_durable_engine")
"""Set by a surface with a durable client, around whatever may begin a run."""


def _on_the_clients_loop(method: M) -> M:
    @functools.wraps(method)
    async def crossing(self: Orchestrations, *arguments: Any, **named: Any) -> Any:
        return await asyncio.wrap_future(self.engine.run(method(self, *arguments, **named)))

    return cast(M, crossing)


class Orchestrations(Struct, frozen=True):
    """The app's orchestrations for asynchronous tools; `blocking` is for synchronous ones.

    Every method raises `LookupError` for an instance that is not there, `ValueError` for what cannot be sent, and
    `errors.EngineUnavailableError` when the engine cannot be reached.
    """

    engine: Engine
    call_key: str

    @property
    def blocking(self) -> BlockingOrchestrations:
        """The same for a synchronous tool, whose thread waits."""
        return BlockingOrchestrations(self)

    @_on_the_clients_loop
    async def start(self, name: str, given: object = None, *, instance_id: str | None = None) -> str:
        """Start the orchestration `name` with an input of plain JSON values, and return the instance's id.

        Without an `instance_id` it is made of the call's key, the name and the input. An instance of that id is left as
        it is, running or ended, so a call that is made again after a crash starts nothing. A name that the app does not
        have makes an instance that fails at once.
        """
        text = _json(given)
        if instance_id is not None:
            chosen = _checked(instance_id)
        else:
            identity = f"{self.call_key}\n{name}\n{text}".encode(errors="surrogatepass")
            chosen = hashlib.sha256(identity).hexdigest()[:_ID_LENGTH]
        if await self.engine.client.status(chosen) is None:
            await begin_orchestration(self.engine.client, name, chosen, json.loads(text))
        return chosen

    @_on_the_clients_loop
    async def status(self, instance_id: str) -> OrchestrationStatus:
        """Return the state of the instance."""
        status = await self.engine.client.status(_checked(instance_id))
        if status is None:
            raise LookupError(f"There is no orchestration {instance_id!r}.")
        return status

    @_on_the_clients_loop
    async def send_event(self, instance_id: str, event: str, value: object = None) -> None:
        """Send an event of plain JSON values to a running instance; the same one sent again is a second event."""
        text = _json(value)
        if not event.isidentifier():
            raise ValueError(f"The event {event!r:.80} cannot be sent. Name it like a variable.")
        status = await self.status(instance_id)
        if status.is_over:
            raise LookupError(f"Orchestration {instance_id!r} has ended ({status.status}) and takes no events.")
        await self.engine.client.send_event(instance_id, event, json.loads(text))


async def begin_orchestration(client: OrchestrationClient, name: str, instance_id: str, given: object) -> None:
    """Start an orchestration under a new id; an existing one with that id was started by an earlier try.

    Raises `errors.EngineUnavailableError`.
    """
    try:
        await client.start(name, instance_id, given)
    except EngineUnavailableError:
        if await client.status(instance_id) is None:
            raise


class BlockingOrchestrations(Struct, frozen=True):
    """The methods of `Orchestrations` for synchronous tools: each returns once it is done."""

    awaited: Orchestrations

    def start(self, name: str, given: object = None, *, instance_id: str | None = None) -> str:
        """Start an orchestration and return the instance's id."""
        return self.awaited.engine.run(self.awaited.start(name, given, instance_id=instance_id)).result()

    def status(self, instance_id: str) -> OrchestrationStatus:
        """Return the state of an instance."""
        return self.awaited.engine.run(self.awaited.status(instance_id)).result()

    def send_event(self, instance_id: str, event: str, value: object = None) -> None:
        """Send an event to a running instance."""
        self.awaited.engine.run(self.awaited.send_event(instance_id, event, value)).result()


def _checked(instance_id: str) -> str:
    """Refuse ids that mean something else in a URL: a model may have made this one up."""
    if not isinstance(instance_id, str) or not is_id(instance_id):
        raise ValueError(f"The instance id {str(instance_id)[:80]!r} is not valid. Use letters, digits and . _ ~ -")
    return instance_id


def _json(value: object) -> str:
    """Return JSON text; of a value with the refused key the SDK would make an object of any class."""
    try:
        text = json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{value!r:.80} is not JSON: {error}. Give plain values.") from None
    if _CLASS_KEY in text:
        raise ValueError(f"The key {_CLASS_KEY} cannot be sent. Give plain values.")
    return text
