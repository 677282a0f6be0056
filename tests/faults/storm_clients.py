"""Clients of an app whose processes die: each asks until it is answered, and remembers what it was told."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from hosting.names import APP, Address
from hosting.principal import Principal
from tests.support.event_stream import frames

RUN = "/api/agents/Storm/run"
THREADS = "/api/agents/Storm/threads"
ISSUER = "https://login.example"
GUARD_SECONDS = 150.0
AGAIN_SECONDS = 0.1
LARGE_LETTERS = 70_000
_AGAIN = {429, 502, 503, 504}
_ENDS = {"completed", "failed", "cancelled"}


@dataclass
class Turn:
    """A message that was sent, and what its sender was told at last.

    `kind` is how it was sent, `name` a word that no other turn has. `code` is the problem's, empty for a success.
    `screen` is what a reader of its stream had before its eyes, None where it was not followed to its end. `complaint`
    is what its sender found wrong at once; `is_denied`: a person refused what it wanted to do. `user` is who sent it,
    where the app asks. Both times are of this
    process's monotonic clock: when it was sent, and when its sender knew its end.
    """

    kind: str
    thread_id: str
    name: str
    message: str = field(repr=False)
    run_id: str = ""
    response: str = field(default="", repr=False)
    code: str = ""
    is_over: bool = False
    began_at: float = field(default_factory=time.monotonic, repr=False)
    ended_at: float = field(default=0.0, repr=False)
    is_denied: bool = False
    screen: str | None = field(default=None, repr=False)
    complaint: str = field(default="", repr=False)
    user: str = ""

    @property
    def address(self) -> Address:
        """The thread, whoever of the users has it."""
        return address_of(self.user, self.thread_id)

    @property
    def key(self) -> str:
        return f"key-{self.name}"

    @property
    def is_success(self) -> bool:
        return self.is_over and not self.code


@dataclass
class Thread:
    """A thread and what it should hold: the messages of its turns that succeeded since it was emptied, in order."""

    thread_id: str
    user: str = ""
    expected: list[str] = field(default_factory=list)
    deleted: list[Turn] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Whose it is, and its id."""
        return f"{self.user}/{self.thread_id}"


class Client:
    """Someone with threads of their own, who sends one message behind another to whichever host takes it.

    Whatever a host does not answer is sent again with the same key. A reset and a deletion have none: they are waited
    for as long as the host sleeps, as it would empty the thread when it wakes, whatever was sent since by way of
    another. Nobody asks for the turns in `left`, which were accepted and not waited for.
    """

    def __init__(
        self,
        number: int,
        origins: Sequence[str],
        chance: random.Random,
        http: httpx.AsyncClient,
        *,
        has_owners: bool = False,
    ) -> None:
        """Where the app `has_owners`, all clients name the same threads, and each has their own."""
        self._number, self._origins, self._chance, self._http = number, origins, chance, http
        self._sent = 0
        self._user, whose = (f"client-{number}", "") if has_owners else ("", f"-{number}")
        self._who = {"x-user": self._user} if has_owners else {}
        self._small = [Thread(f"t{whose}-{place}", self._user) for place in range(2)]
        self._large_one = Thread(f"large{whose}", self._user)  # apart: no model is shown all of one so large
        self.threads = [*self._small, self._large_one]
        self.left: list[Turn] = []

    @property
    def sent(self) -> int:
        """How many messages were sent until now."""
        return self._sent

    async def live(self, is_over: Callable[[], bool]) -> None:
        """Send messages until it is over, each in a way that chance chooses, and now and then empty a thread."""
        while not is_over():
            await self._chance.choices([way for _, way in _WAYS], [weight for weight, _ in _WAYS])[0](self)

    async def messages_of(self, thread: Thread) -> list[str]:
        """Return the texts of the users in the conversation, as the app shows it."""
        texts: list[str] = []
        after = 0
        while True:
            answer = await self._ask("GET", f"{THREADS}/{thread.thread_id}/messages?limit=200&after={after}")
            page: Any = {"entries": [], "has_more": False} if answer.status_code == 404 else answer.json()
            texts += [text for entry in page["entries"] if entry["type"] == "request" for text in _texts(entry)]
            if not page["has_more"]:
                return texts
            after = page["entries"][-1]["position"]

    async def status_of(self, turn: Turn) -> httpx.Response:
        """Return what the address of the turn's run answers."""
        return await self._ask("GET", _place(turn))

    async def _wait(self) -> None:
        await self._turn(self._new("wait", f"wait {self._chance.uniform(0, 0.8):.2f}"))

    async def _large(self) -> None:
        """More than stands in a log's event, both ways."""
        await self._turn(self._new("large", f"say {'x' * LARGE_LETTERS}", self._large_one))

    async def _charge(self) -> None:
        await self._turn(self._new("charge", "charge 1"))

    async def _repeat(self) -> None:
        """The same key twice at once, at hosts that do not know of each other."""
        turn = self._new("repeat", "charge 2")
        answers = await asyncio.gather(*(self._post(turn) for _ in range(2)))
        for answer in answers:
            await self._end(turn, answer)
        if len(runs := {answer.headers.get("x-ms-run-id") for answer in answers}) > 1:
            turn.complaint = f"one key, and the runs {runs}"

    async def _recall(self) -> None:
        turn = self._new("recall", "recall 0")
        before = list(self._of(turn).expected)
        await self._turn(turn)
        if turn.is_success and json.loads(turn.response) != [*before, turn.message]:
            turn.complaint = f"the model was shown {turn.response} and not {before} and this"

    async def _leave(self) -> None:
        """202, on a thread that nobody asks for again."""
        word = self._chance.choice(["charge 3", "wait 0.5", "say 1"])
        turn = self._new("left", word, Thread(f"left-{self._number}-{self._sent}"))
        await self._post(turn, wait=False)
        self.left.append(turn)

    async def _cancel(self) -> None:
        turn = self._new("cancel", "wait 3")
        answer = await self._post(turn, wait=False)
        if answer.status_code == 202:
            cancelled = await self._ask("POST", f"{_place(turn)}/cancel")
            assert cancelled.status_code == 202, cancelled.text
        await self._end(turn, answer)

    async def _approve(self) -> None:
        turn = self._new("approve", "refund 1")
        await self._turn(turn)
        pending = turn.is_success and (await self._ask("GET", f"{THREADS}/{turn.thread_id}/approvals")).json()
        for approval in pending["approvals"] if pending else ():
            place = f"{THREADS}/{turn.thread_id}/approvals/{approval['id']}"
            output = {"approved": self._chance.random() < 0.8}
            turn.is_denied = not output["approved"]
            answer = await self._ask("POST", place, content=json.dumps(output), headers=_JSON)
            turn.response = ""
            if answer.status_code == 202:
                answer = await self._until_over(f"{THREADS}/{turn.thread_id}/runs/{answer.json()['run_id']}")
            if answer.status_code == 200:
                turn.response = answer.json().get("response") or ""

    async def _stream(self) -> None:
        turn = self._new("stream", f"speak {self._chance.randint(5, 60)}")
        await self._follow(turn)

    async def _reset(self) -> None:
        thread = self._chance.choice(self.threads)
        answer = await self._ask("POST", f"{THREADS}/{thread.thread_id}/reset", timeout=GUARD_SECONDS)
        assert answer.status_code in _emptied(thread), answer.text
        thread.expected.clear()

    async def _delete(self) -> None:
        thread = self._chance.choice(self.threads)
        end = time.monotonic() + GUARD_SECONDS
        while (answer := await self._delete_once(thread)).status_code == 202:
            assert time.monotonic() < end, answer.text
        assert answer.status_code in _emptied(thread), answer.text
        thread.expected.clear()
        thread.deleted += thread.turns
        thread.turns = []

    async def _delete_once(self, thread: Thread) -> httpx.Response:
        return await self._ask("DELETE", f"{THREADS}/{thread.thread_id}", timeout=GUARD_SECONDS)

    def _new(self, kind: str, words: str, thread: Thread | None = None) -> Turn:
        self._sent += 1
        thread = thread or self._chance.choice(self._small)
        name = f"{self._number}x{self._sent}x{self._chance.getrandbits(32):08x}"
        turn = Turn(kind, thread.thread_id, name, f"{words} {name}", user=self._user)
        thread.turns.append(turn)
        return turn

    def _of(self, turn: Turn) -> Thread:
        return next(thread for thread in self.threads if thread.thread_id == turn.thread_id)

    async def _turn(self, turn: Turn) -> None:
        await self._end(turn, await self._post(turn))

    async def _post(self, turn: Turn, *, wait: bool = True) -> httpx.Response:
        body = {"message": turn.message, "thread_id": turn.thread_id, "wait_for_response": wait}
        answer = await self._ask("POST", RUN, json=body, headers={"Idempotency-Key": turn.key})
        turn.run_id = answer.headers.get("x-ms-run-id", turn.run_id)
        return answer

    async def _end(self, turn: Turn, answer: httpx.Response) -> None:
        if answer.status_code == 202:
            answer = await self._until_over(_place(turn))
        body = answer.json()
        self._over(turn, body.get("error") if body.get("status") in ("failed", "timed_out", "cancelled") else body)

    def _over(self, turn: Turn, body: Mapping[str, Any]) -> None:
        is_first = not turn.is_over
        turn.is_over, turn.code, turn.response = True, body.get("code", ""), body.get("response", "")
        turn.ended_at = time.monotonic() if is_first else turn.ended_at
        if is_first and turn.is_success:
            self._of(turn).expected.append(turn.message)

    async def _until_over(self, place: str) -> httpx.Response:
        end = time.monotonic() + GUARD_SECONDS
        while (answer := await self._ask("GET", place)).status_code == 202:
            assert time.monotonic() < end, f"{place} is not over: {answer.text}"
            await asyncio.sleep(AGAIN_SECONDS)
        return answer

    async def _follow(self, turn: Turn) -> None:
        """Read a stream to its end, from where it broke, at another host perhaps."""
        cursor, screen, end = "", "", time.monotonic() + GUARD_SECONDS
        while True:
            assert time.monotonic() < end, f"the stream of {turn} has no end"
            try:
                async with self._opened(turn, cursor) as answer:
                    if answer.status_code != httpx.codes.OK:
                        break
                    turn.run_id = answer.headers.get("x-ms-run-id", turn.run_id)
                    async for frame in frames(answer):
                        cursor = frame.id or cursor
                        if frame.event == "delta":
                            screen = screen[: frame.fields["offset"]] + frame.fields["text"]
                        if frame.event in _ENDS:
                            turn.screen = screen
                            self._over(turn, frame.fields)
                            return
            except httpx.TransportError:
                pass
            await asyncio.sleep(AGAIN_SECONDS)
        await self._turn(turn)

    def _opened(self, turn: Turn, cursor: str) -> Any:
        headers = {"Accept": "text/event-stream", **self._who}
        origin = self._chance.choice(self._origins)
        if turn.run_id:
            headers |= {"Last-Event-ID": cursor} if cursor else {}
            return self._http.stream("GET", f"{origin}{_place(turn)}/events", headers=headers)
        body = {"message": turn.message, "thread_id": turn.thread_id}
        headers |= {"Idempotency-Key": turn.key}
        return self._http.stream("POST", origin + RUN, json=body, headers=headers)

    async def _ask(self, method: str, place: str, **request: Any) -> httpx.Response:
        """Return the first answer that says more than to try again, of whichever host."""
        end, received = time.monotonic() + GUARD_SECONDS, "nothing"
        while True:
            assert time.monotonic() < end, f"{method} {place} was not answered: {received}"
            try:
                request["headers"] = {**request.get("headers", {}), **self._who}
                answer = await self._http.request(method, self._chance.choice(self._origins) + place, **request)
            except httpx.TransportError as error:
                received = repr(error)
            else:
                if answer.status_code not in _AGAIN or "run_timed_out" in answer.text:
                    return answer
                received = answer.text
            await asyncio.sleep(AGAIN_SECONDS)


_JSON = {"Content-Type": "application/json"}
_WAYS: list[tuple[int, Callable[[Client], Awaitable[None]]]] = [
    (6, Client._wait),
    (6, Client._charge),
    (1, Client._large),
    (3, Client._repeat),
    (3, Client._recall),
    (5, Client._leave),
    (3, Client._cancel),
    (3, Client._approve),
    (6, Client._stream),
    (1, Client._reset),
    (1, Client._delete),
]


def address_of(user: str, thread_id: str) -> Address:
    """Return the thread of that user's, of the app's own where it has no users."""
    return Address.of("Storm", thread_id, Principal(ISSUER, user).owner if user else APP)


def _place(turn: Turn) -> str:
    return f"{THREADS}/{turn.thread_id}/runs/{turn.run_id}"


def _emptied(thread: Thread) -> set[int]:
    """Return what the app may say of a thread that is emptied: one that no turn has reached is not known to it."""
    return {202, 204} if thread.expected else {202, 204, 404}


def _texts(entry: Mapping[str, Any]) -> list[str]:
    contents = (content for message in entry["messages"] for content in message["contents"])
    return [content["text"] for content in contents if content.get("text")]
