"""What a check asks of a service, whatever its protocol: an adapter gives as much of it as the service has.

A method that an adapter leaves out raises NotOffered, and so do arguments that the service has no word for. The check
is then "not offered", which is no failure.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import httpx

AGAIN_SECONDS = 0.5


class NotOffered(Exception):
    """The service does not promise this; the text says what it lacks."""


class Refused(Exception):
    """The service answered, and not with what was asked for."""

    def __init__(self, answer: httpx.Response, status: int = 0) -> None:
        super().__init__(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text[:300]}")
        self.status = status or answer.status_code


@dataclass(frozen=True)
class Run:
    """One message to the agent, up to the answer."""

    thread: str
    id: str


@dataclass(frozen=True)
class End:
    """How a run ended. Only a completed one has a text, and the calls that wait for a person or for their caller."""

    status: Literal["completed", "cancelled", "failed"]
    text: str = ""
    approvals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """One event of a stream. `offset` is the piece's position in the text where the protocol has one."""

    id: str
    text: str
    offset: int | None = None


@dataclass(frozen=True)
class Entry:
    """One message of a conversation."""

    by: Literal["user", "agent"]
    text: str


@dataclass(frozen=True)
class Pending:
    """What waits for a person: the arguments of a call, or the JSON Schema of the answer to a question."""

    arguments: Mapping[str, Any]
    answer_schema: Mapping[str, Any] | None = None
    default: Any = None
    """The answer by which the run goes on after some time without one; None if it has no such answer."""


@dataclass(frozen=True)
class State:
    """An open run: whether it stands still because it was paused, and how far it is, as far as that was said."""

    is_paused: bool
    share: float | None = None


class Service:
    """A running agent service. Every method raises Refused where the service refuses."""

    def __init__(self, http: httpx.AsyncClient, agent: str, headers: Mapping[str, str] | None = None) -> None:
        self.http = http
        self.agent = agent
        self.headers = dict(headers or {})

    def as_owner(self, headers: Mapping[str, str]) -> Service:
        """Return the same service for a caller with these headers."""
        return type(self)(self.http, self.agent, {**self.headers, **headers})

    def lacks(self, method: str) -> bool:
        """Tell whether the adapter leaves a method out."""
        return getattr(type(self), method) is getattr(Service, method)

    def of_agent(self, agent: str) -> Self:
        """Return the same service for another agent of it."""
        other = copy.copy(self)
        other.agent = agent
        return other

    def beside(self, http: httpx.AsyncClient) -> Self:
        """Return the same client, with all that it knows, for another process of the service."""
        other = copy.copy(self)
        other.http = http
        return other

    async def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request, again for as long as the service asks for that, and return its answer if it is a success."""
        headers = {**self.headers, **options.pop("headers", {})}
        while True:
            answer = await self.http.request(method, path, headers=headers, **options)
            if answer.is_success:
                return answer
            if answer.status_code not in (429, 503) or "retry-after" not in answer.headers:
                raise Refused(answer)
            await asyncio.sleep(AGAIN_SECONDS)

    async def find_agent(self) -> None:
        """Choose the service's first agent if none is named, and see that the service answers."""
        raise NotImplementedError

    async def new_thread(self) -> str:
        """Return the name of a thread that has no messages yet."""
        raise NotImplementedError

    async def start(self, thread: str, message: str, key: str = "") -> Run:
        """Send a message and return once the run is accepted, without its answer."""
        raise NotOffered("runs that are started without waiting for their answer")

    async def end(self, run: Run) -> End:
        """Wait for a run's end and return it."""
        raise NotOffered("the state of a run, to be asked for later")

    async def ask(self, thread: str, message: str, key: str = "") -> tuple[Run, End]:
        """Send a message and wait for the answer."""
        run = await self.start(thread, message, key)
        return run, await self.end(run)

    async def ask_waiting(self, thread: str, message: str) -> End:
        """Send a message in a request that waits for the run itself, and return its end."""
        _, end = await self.ask(thread, message)
        return end

    async def start_long(self, thread: str, message: str) -> Run:
        """Start a run of several steps, each of which the service records by itself."""
        raise NotOffered("runs whose steps are recorded one by one")

    async def state(self, run: Run) -> State | None:
        """Return how an open run is; None for one that has ended."""
        raise NotOffered("how far a run is, to be read")

    async def pause(self, run: Run) -> None:
        """Ask for a run to stand still behind the step that is at work."""
        raise NotOffered("pausing a run by hand")

    async def resume(self, run: Run) -> None:
        """Have a paused run go on."""
        raise NotOffered("pausing a run by hand")

    async def conversation(self, thread: str) -> list[Entry]:
        """Return the messages of a thread, oldest first, without those of tools."""
        raise NotOffered("the conversation of a thread, to be read")

    def follow(self, run: Run, after: str = "") -> AsyncGenerator[Piece, None]:
        """Iterate over a run's stream up to its end, behind the event with that id."""
        raise NotOffered("streams that are resumed after an event's id")

    async def cancel(self, run: Run) -> None:
        """Ask for the end of a run."""
        raise NotOffered("cancelling a run")

    async def decide(self, thread: str, approval: str, approved: bool) -> Run:
        """Answer one approval and return the run that goes on."""
        raise NotOffered("tool calls that wait for a person's approval")

    async def pending(self, thread: str, waiting: str) -> Pending:
        """Return what waits under an id of `End.approvals`."""
        raise NotOffered("the arguments, the schema and the default of what waits, to be read")

    async def decide_with(self, thread: str, approval: str, arguments: Mapping[str, Any]) -> Run:
        """Approve a call with these arguments in place of the model's, and return the run that goes on."""
        raise NotOffered("approving a tool call with other arguments")

    async def answer(self, thread: str, question: str, value: Any) -> Run:
        """Answer the question of a tool, and return the run that goes on."""
        raise NotOffered("tools that ask a person")

    async def steer(self, thread: str, message: str) -> Run:
        """Send a message that is to join the run at work, and return once it is accepted."""
        raise NotOffered("messages that join the run at work")

    async def start_with_tool(self, thread: str, message: str, tool: Mapping[str, Any]) -> Run:
        """Send a message with a tool that the caller runs (name, description, parameters)."""
        raise NotOffered("tools that the caller runs")

    async def give(self, thread: str, call: str, result: str) -> Run:
        """Give the result of a call of the caller's tool, and return the run that goes on."""
        raise NotOffered("tools that the caller runs")

    async def delete(self, thread: str) -> None:
        """Delete a thread with all that it has, and wait until it is gone."""
        raise NotOffered("deleting a thread")

    async def shown(self, thread: str) -> str:
        """Return all that the service gives out about a thread and its runs, as one text."""
        raise NotOffered("all that it knows of a thread, to be read")

    async def stored_version(self, thread: str) -> str:
        """Return the version that the stored form of a thread says it has."""
        raise NotOffered("the stored state of a thread with its version, over HTTP")
