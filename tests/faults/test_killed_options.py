"""The options of a run under SIGKILL: a real host killed around each record, and another that goes on with the run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path

import httpx
import pytest

from hosting.names import new_id
from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE, ClerksApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

DECLARED = '{"temperature": (0, 1), "reasoning_effort": ["low"], "tool_choice": ["required"]}'
APP = (
    SOURCE.replace("agents=[clerk(note)]", "").replace(
        "tests.support.clerk import clerk", "tests.support.obedient import obedient"
    )
    + f"app.add_agent(obedient(), options={DECLARED})\n"
)
ASKED = {
    "message": "call look",
    "options": {"temperature": 0.5, "reasoning_effort": "low", "tool_choice": "required", "seed": 3},
}
PATH = "/api/agents/Joker"

# Appends: 1 begins the run, 2 records the call of the tool with its result, 3 ends the run.
POINTS = ["after 2", "before 1", "after 1", "before 2", "before 3", "after 3"]


async def asked(http: httpx.AsyncClient, key: str) -> httpx.Response:
    """Ask with options, under a key by which the run is found again."""
    return await http.post(f"{PATH}/run", json={**ASKED, "thread_id": key}, headers={"idempotency-key": key})


@pytest.mark.behaviour("options.survives-kill")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_the_process_that_takes_over_a_run_gives_its_model_the_same_options(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """The caller sends the request again, and gets the one run: its options are in the key's fingerprint too."""
    app, key = ClerksApp(tmp_path, stores, APP), new_id()
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await asked(http, key)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=4 * GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(asked(http, key), 4 * GUARD_SECONDS)
            other = await http.post(
                f"{PATH}/run",
                json={**ASKED, "thread_id": key, "options": {"temperature": 0.4}},
                headers={"idempotency-key": key},
            )
            runs = (await http.get(f"{PATH}/threads/{key}/runs")).json()["runs"]

    assert json.loads(answer.json()["response"]) == {"temperature": 0.5, "reasoning_effort": "low"}
    assert answer.headers["x-ms-ignored"] == "options.seed"
    assert (other.status_code, [run["status"] for run in runs]) == (409, ["success"])
