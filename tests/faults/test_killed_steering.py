"""What a caller gives a run at work, or shows it, outlives the process: a message that joins, a context, a state."""

from __future__ import annotations

import json
from ast import literal_eval
from typing import Any

import pytest

from tests.faults.killed_app import KILLED, KilledApp, Row, Scenario, each_dies
from tests.support.ag_ui import events_of, folded, states, wanted
from tests.support.carriers import Api

pytestmark = KILLED

SHOWN = """
import os
from pathlib import Path

from tests.support.painter import painter
from tests.support.steered import FileGate, Working


class Noted(list):
    def append(self, shown):
        note(f"{os.getpid()} {shown}")


working = Working("Steered")
working.client.shown = Noted()
working.gate = FileGate(Path(os.environ["NOTES"]).with_name("gate"))
app = AgentFunctionApp(agents=[working.agent, painter()], wires=["ag-ui"])
"""
AGENT = "/api/agents/Steered"
STEERED = ["user: first", "call", "tool", "user: and this", "call", "tool"]


def open_the_gate(app: KilledApp) -> None:
    """Let the tool of the steered agent end."""
    (app.path.parent / "gate").touch()


async def send(api: Api, message: str, **fields: Any) -> None:
    body = {"message": message, "thread_id": "t", "wait_for_response": False, **fields}
    await api.http.post(f"{AGENT}/run", json=body, headers={"idempotency-key": message.replace(" ", "-")})


async def join(app: KilledApp, api: Api) -> None:
    """Send a message while the tool of a run is at work."""
    await send(api, "first")
    await app.until(lambda: app.said)
    await send(api, "and this", busy="steer")
    open_the_gate(app)


async def the_message_is_given_once_at_the_same_call(app: KilledApp, api: Api) -> None:
    """Sent again under its key it was accepted, or is now; no call of either process was shown it at another place."""
    await send(api, "and this", busy="steer")
    open_the_gate(app)
    runs = await app.ended(api, f"{AGENT}/threads/t")
    word, run = [(await api.http.get(f"{AGENT}/threads/t/runs/{each['run_id']}")).json() for each in runs]
    entries = (await api.http.get(f"{AGENT}/threads/t/messages")).json()["entries"]
    shown = [literal_eval(line.partition(" ")[2]) for line in app.said]

    assert (run["status"], json.loads(run["response"])) == ("success", STEERED)
    assert (word["status"], word["joined"]) == ("joined", run["run_id"])
    assert [each["contents"][0]["text"] for each in entries[0]["messages"]] == ["first", "and this"]
    assert all(each == STEERED[: len(each)] and len(each) in (1, 4, 6) for each in shown), shown


CONTEXT = [{"description": "The open order.", "value": "A-17"}]
RED, BLUE = ({"color": color, "shapes": [*range(20)]} for color in ("red", "blue"))


async def page_runs(api: Api, path: str, fields: dict[str, Any]) -> list[Any]:
    return events_of((await api.http.post(f"/api/ag-ui/{path}", json=fields)).text)


async def show(app: KilledApp, api: Api) -> None:
    open_the_gate(app)
    await page_runs(api, "Steered", {**wanted("first", run="r-1"), "context": CONTEXT})


async def each_model_call_had_the_context(app: KilledApp, api: Api) -> None:
    """Also in the process that goes on; its client, which shows nothing any more, changes nothing."""
    events = await page_runs(api, "Steered", wanted("first", run="r-1"))

    assert events[-1]["outcome"] == {"type": "success"}
    assert len({line.split()[0] for line in app.said}) == 2
    assert [line.count("A-17") for line in app.said] == [1] * len(app.said)


async def paint(app: KilledApp, api: Api) -> list[Any]:
    return await page_runs(api, "Painter", {**wanted("paint blue, look", run="r-1"), "state": RED})


async def no_change_of_the_state_is_lost(app: KilledApp, api: Api) -> None:
    """The tool after the kill sees it, the page gets it once, and the thread keeps it."""
    ended, following = await paint(app, api), await page_runs(api, "Painter", wanted("look", run="r-2"))

    assert folded(ended)[-1]["content"] == f"painted blue | {json.dumps(BLUE)}"
    assert [event["type"] for event in ended if event["type"].startswith("STATE")] == ["STATE_SNAPSHOT", "STATE_DELTA"]
    assert (states(ended), states(following)) == ([RED, BLUE], [BLUE])


ROUNDS = [f"{side} {nth}" for nth in (3, 2, 4, 5) for side in ("after", "before")]


@each_dies(
    Scenario(
        "message",
        SHOWN,
        ["after joined 1", "before accepted 2", "after accepted 2", "before joined 1", "after completed 1"],
        join,
        the_message_is_given_once_at_the_same_call,
    ).rows(pytest.mark.behaviour("service.steering-killed"), gate=[("before accepted 2", "sqlite")]),
    Scenario("context", SHOWN, ROUNDS, show, each_model_call_had_the_context).rows(
        pytest.mark.behaviour("ag-ui.context")
    ),
    Scenario("state", SHOWN, ROUNDS, paint, no_change_of_the_state_is_lost).rows(pytest.mark.behaviour("ag-ui.state")),
)
async def test_what_a_caller_gives_a_run_outlives_the_process(row: Row) -> None:
    """The request sent again follows the run."""
    await row.dies_and_ends()
