"""The overviews in the upkeep of an app, by the list of an engine as the real host answers it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from azure.durable_functions import DurableOrchestrationClient

from hosting.app import AgentFunctionApp
from hosting.functions.timers import RETENTION_FUNCTION
from tests.support.app.scripted import scripted_agent
from tests.support.direct import DirectHost


@pytest.mark.behaviour("overview.exact")
async def test_the_timer_of_twice_a_day_asks_what_changed_of_each_agent() -> None:
    """The first time for all threads: the events of a run go by their age, and are counted before."""
    asked = list[str]()

    async def listed(request: web.Request) -> web.Response:
        asked.extend([request.match_info["name"]] if "lastOperationTimeTo" not in request.query else [])
        return web.json_response([])

    routes = web.Application()
    routes.router.add_get("/entities/{name}", listed)
    app = AgentFunctionApp(agents=[scripted_agent("one"), scripted_agent("two")], environ={"AGENT_LOG": "memory"})
    timer: Any = DirectHost(app).functions[RETENTION_FUNCTION].get_user_function().client_function
    async with TestServer(routes) as engine:
        bindings = {
            "taskHubName": "hub",
            "creationUrls": {},
            "managementUrls": {},
            "rpcBaseUrl": f"{engine.make_url('/')}",
        }
        await timer(timer=None, client=DurableOrchestrationClient(json.dumps(bindings)))

    assert sorted(asked) == ["dafx-one", "dafx-two"]
