"""A message that joins a run, under SIGKILL: of the process that runs it, and of the one that takes the message.

One process has a run standing around each record of it, and another one accepts the message that joins: they know of
each other by the log alone. One kill shows all points. The outside keeps what the model of each run was shown.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.faults.planned_app import PlannedApp, points
from tests.support.kept_in import over
from tests.support.seeds import IS_EXPLORING

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("service.steering-killed")]

GUARD_SECONDS = 40.0
AGENT = "/api/agents/Steered"
# The model's answer with its tool's begin, the result (and again, behind what the other process appended), the message
# that joins, the second answer, its result, the end.
POINTS = points(7)
SOME = ["after 1", "after 4", POINTS[-1]]
STOOD_AT = POINTS if IS_EXPLORING else SOME
SHOWN = ["user: first", "call", "tool", "user: and this", "call", "tool"]


@dataclass(frozen=True)
class Steered:
    """How a run ended, after so many attempts, and the message that joined it.

    `shown` is what each call of its model was shown, and `asked` what its thread says that the run was asked.
    """

    attempts: int
    run: dict[str, Any]
    word: dict[str, Any]
    shown: Sequence[list[str]]
    asked: list[str]


class SteeredApp(PlannedApp):
    """The app, whose steered agent's tool lasts until `open`."""

    def __init__(self, folder: Path, log: dict[str, str]) -> None:
        """Leases are longer where a dead process is not known by the lock of its file.

        Each run that stands renews its own by appends, four of them in its length. Of many short ones some end before
        the kill on a machine that has much to do, and the other process takes those runs.
        """
        self._gate = folder / "gate"
        lease = "1" if is_of_files(log) else "4"
        super().__init__(folder, {**log, "LEASE_SECONDS": lease, "GATE": str(self._gate)})

    def open(self) -> None:
        """Let the tools go on."""
        self._gate.touch()

    async def at_work(self, one: httpx.AsyncClient, stands: Sequence[str]) -> dict[str, asyncio.Task[Any]]:
        """Have a process run the agent on a thread for each point; return the requests that wait, by thread."""
        threads = [f"{point.replace(' ', '-')}.{new_id()}" for point in stands]
        waiting = {thread: asyncio.create_task(sent(one, "first", thread)) for thread in threads}
        while len([note for note in self.notes() if note.what.startswith("model")]) < len(threads):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        return waiting

    async def steered(self, http: httpx.AsyncClient, thread: str) -> Steered:
        """Return a thread's two runs once they have ended."""
        place = f"{AGENT}/threads/{thread}"
        newest = (await http.get(f"{place}/runs")).json()["runs"]
        word, run = [await ended(http, f"{place}/runs/{run['run_id']}") for run in newest]
        attempts = (await http.get(f"{place}/runs")).json()["runs"][1]["attempts"]
        entries = (await http.get(f"{place}/messages")).json()["entries"]
        asked = [content["text"] for message in entries[0]["messages"] for content in message["contents"]]
        told = [note.what for note in self.notes() if note.run_id == run["run_id"]]
        return Steered(attempts, run, word, [json.loads(what.removeprefix("model ")) for what in told], asked)


def is_of_files(log: Mapping[str, str]) -> bool:
    """Return whether these settings keep the log in a file."""
    return log["AGENT_LOG"].startswith("sqlite")


async def sent(http: httpx.AsyncClient, message: str, thread: str, **fields: Any) -> None:
    """Send a message to a process that may be killed meanwhile, under a key of the thread's."""
    body = {"message": message, "thread_id": thread, **fields}
    with suppress(httpx.TransportError):
        answer = await http.post(
            f"{AGENT}/run", json=body, headers={"idempotency-key": f"{message.replace(' ', '-')}-{thread}"}
        )
        assert answer.status_code in (200, 202), answer.text


async def ended(http: httpx.AsyncClient, place: str) -> dict[str, Any]:
    while (answer := await http.get(place)).status_code == 202:  # noqa: ASYNC110 - another process ends it
        await asyncio.sleep(0.02)
    return dict(answer.json())


def word(http: httpx.AsyncClient, thread: str) -> Any:
    """Send the message that joins."""
    return sent(http, "and this", thread, busy="steer", wait_for_response=False)


async def killed_at_work(app: SteeredApp, stands: Sequence[str]) -> dict[str, Steered]:
    """Kill the process whose runs stand at their points, once another one has accepted what joins them."""
    with app.groups(standing=[0], durable=1) as group:
        one, two = group.http
        async with (
            httpx.AsyncClient(base_url=one.origin, timeout=GUARD_SECONDS) as http,
            httpx.AsyncClient(base_url=two.origin, timeout=GUARD_SECONDS) as other,
        ):
            waiting = await app.at_work(http, stands)
            await asyncio.gather(*(word(other, thread) for thread in waiting))
            app.open()
            await app.until_standing(len(waiting))
            one.kill()
            await asyncio.gather(*waiting.values())
            ends = await asyncio.gather(*(app.steered(other, thread) for thread in waiting))
    return dict(zip(stands, ends, strict=True))


async def killed_at_the_door(app: SteeredApp) -> list[Steered]:
    """Kill the process that stands around its acceptance of what joins; its caller sends that again to the other."""
    with app.groups(standing=[1], durable=1) as group:
        one, two = group.http
        async with (
            httpx.AsyncClient(base_url=one.origin, timeout=GUARD_SECONDS) as http,
            httpx.AsyncClient(base_url=two.origin, timeout=GUARD_SECONDS) as other,
        ):
            waiting = await app.at_work(http, ["before 0", "after 0"])
            words = [asyncio.create_task(word(other, thread)) for thread in waiting]
            await app.until_standing(len(words))
            two.kill()
            await asyncio.gather(*words)
            await asyncio.gather(*(word(http, thread) for thread in waiting))
            app.open()
            await asyncio.gather(*waiting.values())
            ends = await asyncio.gather(*(app.steered(http, thread) for thread in waiting))
    return list(ends)


@pytest.fixture(scope="module")
def at_work(log_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Steered]:
    """Each run by the point at which its process was killed."""
    app = SteeredApp(tmp_path_factory.mktemp("steered"), log_settings)
    return asyncio.run(asyncio.wait_for(killed_at_work(app, STOOD_AT), 2 * GUARD_SECONDS))


@over("log_settings", "sqlite", "redis")
@pytest.mark.parametrize(
    "point", [point if point in SOME else pytest.param(point, marks=pytest.mark.explore) for point in POINTS]
)
def test_another_process_gives_the_message_once_and_at_the_same_call(at_work: dict[str, Steered], point: str) -> None:
    """Wherever the run stood: no call of either process was shown it at another place.

    Every run that had not ended has a second attempt, also where only a lease says that a process is gone.
    """
    steered = at_work[point]
    run, joined = steered.run, steered.word

    assert (run["status"], json.loads(run["response"])) == ("success", SHOWN)
    assert (joined["status"], joined["joined"]) == ("joined", run["run_id"])
    assert steered.asked == ["first", "and this"]
    assert all(shown == SHOWN[: len(shown)] and len(shown) in (1, 4, 6) for shown in steered.shown), steered.shown
    assert steered.attempts == (1 if point == POINTS[-1] else 2)


@over("log_settings", "sqlite")
async def test_a_message_whose_process_is_killed_joins_once(tmp_path: Path, log_settings: dict[str, str]) -> None:
    """Before its acceptance or behind it: sent again under its key it was accepted, or is now."""
    for steered in await killed_at_the_door(SteeredApp(tmp_path, log_settings)):
        assert json.loads(steered.run["response"]) == SHOWN
        assert (steered.word["status"], steered.word["joined"]) == ("joined", steered.run["run_id"])
        assert steered.asked == ["first", "and this"]
        assert steered.shown == [SHOWN[:1], SHOWN[:4], SHOWN]
