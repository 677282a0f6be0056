"""Webhooks and feedback whose process dies between two steps: each is told and counted, and nobody has to ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faults.killed_app import KILLED, KilledApp, Row, Scenario, each_dies
from tests.support.canary import holds
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.receiver import WEBHOOKS, Receiver, receiving

pytestmark = KILLED

THREAD = "/api/agents/Joker/threads/t"
WORD = "quokka"
GOOD = {"score": 1, "label": "helpful", "comment": WORD}
NOTICES = """
import os

from hosting.features.feedback import feedback
from hosting.features.feedback.figures import FeedbackMarks
from hosting.features.feedback.records import FeedbackRecords
from hosting.features.webhooks import delivery, feature, webhooks
from hosting.features.webhooks.deliveries import Deliveries

delivery.PAUSES = (0.0,) * len(delivery.PAUSES)
webhooks.HELD_SECONDS = delivery.HELD_SECONDS = float(os.environ.get("HELD_SECONDS", "30"))
feedback.NOTED_SECONDS = 0.0
for owner, method, name in (
    (webhooks.Webhooks, "_sent", "try"),
    (webhooks.Webhooks, "notify_of", "feedback notify"),
    (Deliveries, "put", "put"),
    (Deliveries, "mark", "mark"),
    (webhooks, "start_clock", "start"),
    (feature, "purge_clock", "purge"),
    *((feedback.Feedbacks, f"_{step}", f"feedback {step}") for step in ("note", "drop", "signal", "forget")),
    *((FeedbackRecords, step, f"feedback {step}") for step in ("put", "erase", "unlist")),
    (FeedbackMarks, "count", "feedback count"),
):
    dies_around(owner, method, name)

from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent

app = AgentFunctionApp(agents=[scripted_agent("Joker")], webhook=os.environ["RECEIVER"])
"""


def tells(app: KilledApp, receiver: Receiver) -> None:
    """Have the app tell that receiver."""
    app.environ |= {**WEBHOOKS, **app.stores, "RECEIVER": f"{receiver.url}/hook"}
    app.known["receiver"] = receiver


def told(app: KilledApp, event: str) -> list[Any]:
    """Return what the receiver got of that event so far."""
    arrived = app.known.setdefault("arrived", [])
    queue = app.known["receiver"].arrived
    arrived += [queue.get_nowait() for _ in range(queue.qsize())]
    return [each for each in arrived if each.verified()["type"] == event]


async def delivery_is(app: KilledApp, api: Api, state: str, clocks: int = 0) -> Any:
    """Return the delivery once it is in that state and the engine has so many clocks."""

    async def shown() -> Any:
        deliveries = (await api.http.get(f"{THREAD}/webhooks")).json()["deliveries"]
        instances = (await api.http.get("/runtime/webhooks/durabletask/instances")).json()
        running = sum(each["instanceId"].startswith("webhook!") for each in instances)
        return ([each["state"] for each in deliveries], running) == ([state], clocks) and deliveries

    return (await app.until(shown))[0]


async def leave_a_run(app: KilledApp, api: Api) -> None:
    """Ask, and do not wait; the receiver is away at first."""
    app.known["receiver"].statuses = [503, 503]
    await api.ask("say hello", thread_id="t", wait_for_response=False)


async def the_receiver_is_told_one_message(app: KilledApp, api: Api) -> None:
    """What one process could not tell another one does."""
    delivery = await delivery_is(app, api, "delivered")
    messages = told(app, "run.completed")

    assert len({(message.id, message.body) for message in messages}) == 1
    assert 0 <= len(messages) - len(delivery["tries"]) <= 1


async def give(app: KilledApp, api: Api) -> None:
    """Ask, and give feedback on the answer."""
    run = (await api.ask("say hello", thread_id="t")).json()["run_id"]
    await api.http.post(f"{THREAD}/runs/{run}/feedback", json=GOOD)


async def figures(api: Api) -> list[Any]:
    days = (await api.http.get("/api/agents/Joker/figures")).json()["days"]
    return [day["feedback"] for day in days if "feedback" in day]


async def feedback(api: Api) -> list[Any]:
    return list((await api.http.get(f"{THREAD}/feedback")).json()["feedback"])


async def it_counts_and_is_told_once(app: KilledApp, api: Api) -> None:
    """Nobody asks again: the engine, or the work of twice a day, has the rest done."""

    async def is_told() -> bool:
        await app.repaired(api)
        return bool(told(app, "feedback.given") and await figures(api))

    await app.until(is_told)
    [shown] = await feedback(api)
    deliveries = (await api.http.get(f"{THREAD}/webhooks")).json()["deliveries"]

    assert (shown["score"], shown["label"], shown["comment"]) == (1, "helpful", WORD)
    assert await figures(api) == [{"count": 1, "mean_score": 1.0, "labels": {"helpful": 1}}]
    assert {each.verified()["data"]["run_id"] for each in told(app, "feedback.given")} == {shown["run_id"]}
    assert [each["event"] for each in deliveries].count("feedback.given") == 1


async def nothing_was_given(app: KilledApp, api: Api) -> None:
    """Its caller has no answer; when they send it again it is the first."""
    await app.repaired(api)
    assert (await feedback(api), await figures(api)) == ([], [])
    [run] = (await api.http.get(f"{THREAD}/runs")).json()["runs"]
    assert (await api.http.post(f"{THREAD}/runs/{run['run_id']}/feedback", json=GOOD)).status_code == 201


async def give_and_reset(app: KilledApp, api: Api) -> None:
    """Give feedback, and reset the thread when the figures have it."""
    await give(app, api)
    await app.until(lambda: figures(api))
    await api.http.post(f"{THREAD}/reset")


async def it_goes_by_itself(app: KilledApp, api: Api) -> None:
    """Neither the record nor its figure is left, and nobody reads the feedback in between."""

    async def is_gone() -> bool:
        return not holds(app.path / ".agents", WORD.encode()) and await figures(api) == []

    await app.until(is_gone)
    assert await feedback(api) == []


STEPS = {
    "delivery": ["before start 1"]
    + ["before put 1", "before try 2", "after put 2", "before purge 1", "before try 1", "before mark 1"]
    + ["after start 1", "before put 2", "before mark 3", "after purge 1"]
    + [f"engine {point}" for point in ("after-entity:2", "before-commit:2", "before-commit:3")],
    "recorded": [
        "after feedback put 1",
        *(f"before feedback {step} 1" for step in ("signal", "count", "notify", "forget")),
        *(f"after feedback {step} 1" for step in ("signal", "count", "notify", "forget")),
    ],
    "unrecorded": ["before feedback note 1", "after feedback note 1", "before feedback put 1"],
    "reset": ["before feedback drop 1", "after feedback count 2", "after feedback unlist 1", "after feedback erase 1"],
}


@each_dies(
    Scenario("delivery", NOTICES, STEPS["delivery"], leave_a_run, the_receiver_is_told_one_message).rows(
        pytest.mark.behaviour("webhooks.again"), gate=[("engine after-entity:2", "sqlite")]
    ),
    Scenario("recorded", NOTICES, STEPS["recorded"], give, it_counts_and_is_told_once).rows(
        pytest.mark.behaviour("feedback.told")
    ),
    Scenario("unrecorded", NOTICES, STEPS["unrecorded"], give, nothing_was_given).rows(
        pytest.mark.behaviour("feedback.told")
    ),
    Scenario("reset", NOTICES, STEPS["reset"], give_and_reset, it_goes_by_itself).rows(
        pytest.mark.behaviour("feedback.erased")
    ),
)
async def test_a_notice_whose_process_dies_is_given_once(row: Row) -> None:
    """What was begun is ended by another process."""
    async with receiving() as receiver:
        tells(row.app, receiver)
        await row.dies_and_ends()


@pytest.mark.behaviour("webhooks.apart")
async def test_a_kill_while_a_receiver_hangs_keeps_nothing_from_it(tmp_path: Path, stores: dict[str, str]) -> None:
    """The operation is over by then, and the engine has nothing to deliver again: its clock has it sent."""
    async with receiving() as receiver:
        app = KilledApp(tmp_path, stores, NOTICES, HELD_SECONDS="3")
        tells(app, receiver)
        async with app.running() as api:
            receiver.statuses = [0]
            await api.ask("say hello", thread_id="t", wait_for_response=False)
            hung = await receiver.next(6 * GUARD_SECONDS)
            await delivery_is(app, api, "waiting", clocks=1)
        async with app.running() as api:
            again = await receiver.next(6 * GUARD_SECONDS)
            await delivery_is(app, api, "delivered")

    assert (again.id, again.body) == (hung.id, hung.body)
    assert receiver.arrived.empty()
