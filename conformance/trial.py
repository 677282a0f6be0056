"""One trial of a service: what the user gave for it, what a check may do with it, and what comes of a check."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from conformance.port import End, Entry, NotOffered, Refused, Run, Service

BETWEEN_TRIES_SECONDS = 0.1
UNREADABLE = (httpx.HTTPError, AttributeError, LookupError, TypeError, ValueError)
"""What is raised where a service gives no answer, or one that is no JSON or JSON of another shape."""

TOOL = {
    "name": "conformance_lookup",
    "description": "Looks up a subject.",
    "parameters": {"type": "object", "properties": {"subject": {"type": "string"}}},
}
"""The tool that the pack runs as a caller."""

Outcome = Literal["passed", "failed", "not offered", "not tried"]


class Broken(Exception):
    """The promise is not kept; the text is the evidence."""


class NotTried(Exception):
    """The check could not be made; the text says what it needs."""


@dataclass(frozen=True)
class Check:
    """One promise, and the way to try it."""

    name: str
    promise: str
    how: str
    run: Callable[[Trial], Awaitable[None]]


Row = tuple[str, str, Callable[["Trial"], Awaitable[None]]]
"""Of a check: its name, its promise, and the way to try it."""


@dataclass(frozen=True)
class Result:
    """What came of a check, and why if it is not passed."""

    check: Check
    outcome: Outcome
    evidence: str = ""


@dataclass
class Trial:
    """A service, and the means to try it. `kill` kills it with no chance to clean up, and starts it again."""

    service: Service
    plain: str
    slow: str
    approval: str = ""
    owners: Sequence[Mapping[str, str]] = ()
    kill: Callable[[], Awaitable[None]] | None = None
    patience: float = 60.0
    open_seconds: float = 0.3
    """A run that is meant to be slow is still open then."""
    work: str = ""
    tool: str = ""
    ask: str = ""
    edit: str = ""
    default: str = ""
    long: str = ""
    limit: float = 0.0
    """Seconds that the service lets one request, or one attempt at a run, take."""
    closed: str = ""
    """An agent whose author lets callers bring no tools."""
    behalf: str = ""
    says: Sequence[str] = ()
    """For each of the owners, what the answer to `behalf` says of whose token the tool got."""
    token_header: str = "authorization"
    stored: Callable[[], Awaitable[str]] | None = None
    """Returns all that the service stores, as a text."""
    beside: Service | None = None
    """The same service by another process of it."""

    def message(self, text: str = "") -> str:
        """Return a message that was never sent before, and that is recognized in a conversation."""
        return f"{text or self.plain} ({uuid.uuid4().hex[:8]})"

    async def slow_run(self, thread: str, service: Service | None = None, message: str = "") -> Run:
        """Start a run that takes a while, and return it while it is open."""
        service = service or self.service
        run = await service.start(thread, message or self.message(self.slow))
        end = asyncio.ensure_future(service.end(run))
        await asyncio.wait({end}, timeout=self.open_seconds)
        if end.done():
            raise NotTried(
                f"the run of --slow ended as {end.result().status} at once; give a message with a longer answer"
            )
        end.cancel()
        return run

    async def waiting(self, thread: str) -> str:
        """Make a tool call that waits for a person, and return its approval."""
        if self.service.lacks("decide"):
            await self.service.decide(thread, "", True)  # not offered, whatever the user gave for it
        return await self._paused(thread, "--approval", self.approval, "a tool call that waits for approval")

    async def editable(self, thread: str) -> tuple[str, Callable[[str], dict[str, Any]]]:
        """Make a tool call that waits for a person; return its approval, and its arguments with a text in one."""
        if self.service.lacks("decide_with"):
            await self.service.decide_with(thread, "", {})  # not offered, whatever the user gave for it
        approval = await self._paused(thread, "--edit", self.edit, "a call of a tool that says its text after approval")
        arguments = (await self.service.pending(thread, approval)).arguments
        name = next((name for name, value in arguments.items() if isinstance(value, str)), None)
        if name is None:
            raise NotTried(f"the call of --edit has no text among its arguments {json.dumps(arguments)[:200]}")
        return approval, lambda text: {**arguments, name: text}

    async def asked(self, thread: str) -> str:
        """Have a tool ask a person for a text, and return the question."""
        if self.service.lacks("answer"):
            await self.service.answer(thread, "", "")  # not offered, whatever the user gave for it
        return await self._paused(thread, "--ask", self.ask, "a tool that asks a person for a text")

    async def lapsing(self, thread: str) -> tuple[str, str]:
        """Have a tool ask a person with a default, and return the question with that."""
        if self.service.lacks("pending"):
            await self.service.pending(thread, "")  # not offered, whatever the user gave for it
        what = "a tool that asks a person and has a default after some seconds"
        question = await self._paused(thread, "--default", self.default, what)
        default = (await self.service.pending(thread, question)).default
        if not isinstance(default, str):
            raise NotTried(f"the question of --default has the default {default!r}: give one that has a text")
        return question, default

    def other_process(self) -> Service:
        """Return the service by its other process."""
        if self.beside is None:
            raise NotTried("no --beside URL, which is that of another process of the service")
        return self.beside

    async def takes_messages(self) -> None:
        """Raise NotOffered where the service has no way to send one."""
        if self.service.lacks("start") and self.service.lacks("ask"):
            await self.service.start("", "")

    async def long_message(self) -> str:
        """Return a message that leads to a long run."""
        await self.takes_messages()
        if not self.long or not self.limit:
            raise NotTried("no --long MESSAGE, which leads to a row of slow tool calls, with --limit SECONDS")
        return self.message(self.long)

    async def _paused(self, thread: str, option: str, message: str, what: str) -> str:
        if not message:
            raise NotTried(f"no {option} MESSAGE, which leads to {what}")
        _, end = await self.service.ask(thread, self.message(message))
        if not end.approvals:
            raise NotTried(f"the message of {option} led to nothing that waits; the answer was {end.text[:200]!r}")
        return end.approvals[0]

    async def called(self, thread: str) -> str:
        """Have a tool of the caller's called, and return the call."""
        if self.service.lacks("start_with_tool"):
            await self.service.start_with_tool(thread, "", TOOL)  # not offered, whatever the user gave for it
        if not self.tool:
            raise NotTried(f"no --tool MESSAGE, which makes the agent call the tool {TOOL['name']} of the caller")
        try:
            end = await self.end(await self.service.start_with_tool(thread, self.message(self.tool), TOOL))
        except Refused as refusal:
            if refusal.status != httpx.codes.BAD_REQUEST:
                raise
            raise NotOffered(f"tools that the caller runs, of this agent: {refusal}") from None
        if not end.approvals:
            raise NotTried(f"the message of --tool led to no call of {TOOL['name']}; the answer was {end.text[:200]!r}")
        return end.approvals[0]

    async def killed(self) -> None:
        """Kill the service and wait until it answers again."""
        if self.kill is None:
            raise NotTried("no --kill COMMAND, which kills the service with kill -9 and starts it again")
        await self.kill()
        until = asyncio.get_running_loop().time() + self.patience
        while True:
            try:
                return await self.service.find_agent()
            except (Refused, *UNREADABLE) as error:  # also the page of a proxy while the service starts
                if asyncio.get_running_loop().time() > until:
                    raise Broken(f"it did not answer within {self.patience:g} s of the kill: {error!r}") from error
            await asyncio.sleep(BETWEEN_TRIES_SECONDS)

    async def end(self, run: Run) -> End:
        """Wait for a run's end, also over connections that break."""
        while True:
            with suppress(httpx.TransportError):
                return await self.service.end(run)
            await asyncio.sleep(BETWEEN_TRIES_SECONDS)

    async def stream(self, run: Run, reader: Reader, pieces: int = 0, service: Service | None = None) -> None:
        """Read on in a run's stream: so many pieces of text, or all to the end, also over connections that break."""
        wanted, service = reader.pieces + pieces, service or self.service
        while True:
            with suppress(httpx.TransportError):
                async with aclosing(service.follow(run, reader.last)) as stream:
                    async for piece in stream:
                        reader.read(piece.id, piece.text, piece.offset)
                        if pieces and reader.pieces >= wanted:
                            break
                return
            await asyncio.sleep(BETWEEN_TRIES_SECONDS)

    async def turns(self, thread: str) -> list[tuple[str, str]]:
        """Return a thread's conversation as pairs of a message and its answer."""
        return paired(await self.service.conversation(thread))


@dataclass
class Reader:
    """A client of streams: what it has read, and where it is."""

    text: str = ""
    last: str = ""
    pieces: int = 0

    def read(self, place: str, text: str, offset: int | None) -> None:
        """Take one event. A piece with an offset replaces all behind that."""
        self.last = place or self.last
        if text:
            self.pieces += 1
            self.text = (self.text if offset is None else self.text[:offset]) + text


def paired(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return each user's message with all that the agent said behind it."""
    turns: list[tuple[str, str]] = []
    for entry in entries:
        if entry.by == "user":
            turns.append((entry.text, ""))
        elif turns:
            turns[-1] = (turns[-1][0], turns[-1][1] + entry.text)
        else:
            turns.append(("", entry.text))
    return turns


def checks_of(*rows: Row) -> tuple[Check, ...]:
    """Return checks of their names, promises and functions, whose docstrings say how they are made."""
    return tuple(Check(name, promise, " ".join((run.__doc__ or "").split()), run) for name, promise, run in rows)


async def result_of(check: Check, trial: Trial) -> Result:
    """Make one check."""
    try:
        await asyncio.wait_for(check.run(trial), 2 * trial.patience)
    except NotOffered as lack:
        return Result(check, "not offered", f"the service has no way for {lack}")
    except NotTried as lack:
        return Result(check, "not tried", str(lack))
    except (Broken, Refused) as evidence:
        return Result(check, "failed", str(evidence))
    except TimeoutError:
        return Result(check, "failed", f"no end within {2 * trial.patience:g} s")
    except UNREADABLE as error:
        return Result(check, "failed", f"an unreadable answer: {error!r}")
    return Result(check, "passed")
