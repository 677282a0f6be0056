"""Workflows by the routes and field names of agent-framework-azurefunctions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.support.flows import FLOWS, asking_flow
from tests.support.made_app import MEMORY, app_of, served

WAIT = {"waitForResponse": "true"}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with served(app_of(workflows=FLOWS)) as (_, http):
        yield http


async def status(http: httpx.AsyncClient, name: str, started: httpx.Response) -> dict[str, Any]:
    """Return how the instance stands, before and after whoever follows it has run it."""
    place = started.json()["statusQueryGetUri"]
    before = (await http.get(place)).json()["runtimeStatus"]
    thread = f"/api/workflows/{name}/threads/{started.json()['instanceId']}"
    await http.get(f"{thread}/runs/{started.headers['x-ms-run-id']}/events")
    assert before in ("Pending", "Running", "Terminated")
    return dict((await http.get(place)).json())


@pytest.mark.behaviour("workflows.upstream")
async def test_an_instance_is_begun_and_asked_for_by_upstreams_names(http: httpx.AsyncClient) -> None:
    started = await http.post("/api/workflow/Orders/run", json={"item": "tea", "count": 2})

    body = started.json()
    place = f"http://app.example/api/workflow/Orders/status/{body['instanceId']}"
    assert started.status_code == 202
    assert body == {
        "instanceId": body["instanceId"],
        "statusQueryGetUri": place,
        "respondUri": f"http://app.example/api/workflow/Orders/respond/{body['instanceId']}/{{requestId}}",
        "message": "Workflow started",
    }
    assert (started.headers["location"], started.headers["retry-after"]) == (place, "1")
    ended = await status(http, "Orders", started)
    assert sorted(ended) == [
        "createdTime", "customStatus", "error", "instanceId", "lastUpdatedTime", "output", "runtimeStatus",
    ]  # fmt: skip
    assert (ended["runtimeStatus"], ended["output"]) == ("Completed", [{"item": "tea", "total": 6}])
    ours = await http.get(f"/api/workflows/Orders/threads/{body['instanceId']}/runs")
    assert [run["status"] for run in ours.json()["runs"]] == ["success"]


WRONG_REQUESTS: list[tuple[Any, ...]] = [
    ("POST", "workflow/Nobody/run", b"a", "unknown_agent"),
    ("POST", "workflow/Text/run", b"", "missing_message"),
    ("POST", "workflow/Orders/run", b"{", "invalid_json"),
    ("POST", "workflow/Orders/run", b"{}", "invalid_input"),
    ("POST", "workflow/Text/run?runId=a/b", b"a", "invalid_thread_id"),
    ("POST", "workflow/Text/run?waitForResponse=perhaps", b"a", "invalid_wait"),
    ("POST", "workflow/Text/run?timeoutSeconds=201", b"a", "invalid_wait"),
    ("GET", "workflow/Text/status/nobody", None, "unknown_thread"),
]


@pytest.mark.behaviour("workflows.upstream")
async def test_what_fits_nothing_is_refused(http: httpx.AsyncClient) -> None:
    for method, path, content, code in WRONG_REQUESTS:
        answer = await http.request(method, f"/api/{path}", content=content)

        assert (answer.json()["code"], 400 <= answer.status_code < 500) == (code, True)
        assert answer.json()["error"]


@pytest.mark.behaviour("workflows.upstream")
@pytest.mark.parametrize("named", ["Asking/", ""])
async def test_a_question_is_answered_by_upstreams_names(named: str) -> None:
    """It stands in the status with the address of its answer; all that was yielded is the output."""
    async with served(app_of(workflow=asking_flow, environ={**MEMORY, "AGENT_MAX_BODY_BYTES": "1024"})) as (_, http):
        started = await http.post(f"/api/workflow/{named}run", params=WAIT, content=b"tea")
        place = started.json()["statusQueryGetUri"]
        asks = (await http.get(place)).json()
        (question,) = asks["pendingHumanInputRequests"]
        wrong = await http.post(question["respondUrl"], json={"note": 1})
        large = await http.post(question["respondUrl"], json={"approved": True, "note": "n" * 1024})
        answer = await http.post(question["respondUrl"], json={"approved": True})
        again = await http.post(question["respondUrl"], json={"approved": True})
        other = await http.post(question["respondUrl"], json={"approved": False})
        runs = (await http.get(f"/api/workflows/Asking/threads/{asks['instanceId']}/runs")).json()["runs"]
        await http.get(f"/api/workflows/Asking/threads/{asks['instanceId']}/runs/{runs[0]['run_id']}/events")
        ended = (await http.get(place)).json()

    assert (started.status_code, asks["runtimeStatus"], asks["output"]) == (202, "Running", None)
    assert asks["customStatus"] == {"state": "waiting_for_human_input"}
    assert (question["sourceExecutor"], question["requestData"]["text"]) == ("reviewer", "tea")
    assert question["responseType"]["required"] == ["approved"]
    assert question["respondUrl"] == started.json()["respondUri"].replace("{requestId}", question["requestId"])
    assert (wrong.json()["code"], other.json()["code"]) == ("invalid_input", "approval_answered")
    assert (large.status_code, large.json()["code"]) == (413, "body_too_large")
    assert (
        answer.json()
        == again.json()
        == {
            "message": "Response delivered successfully",
            "instanceId": asks["instanceId"],
            "requestId": question["requestId"],
        }
    )
    assert (ended["runtimeStatus"], ended["output"]) == ("Completed", ["asked", "tea: True"])
