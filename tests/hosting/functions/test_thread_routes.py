"""Threads over HTTP, on both carriers: read, paged, exported, reset, deleted, and their runs cancelled."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import quote

import httpx
import pytest

from hosting.errors import InvalidFieldError, UnknownRunError, UnknownThreadError
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import ENTITY, GUARD_SECONDS, Api
from tests.support.direct import DirectHost
from tests.support.made_app import app_of, served
from tests.support.owned_app import signed_in

THREADS = "/api/agents/Joker/threads"


@pytest.mark.behaviour("http.reads-threads")
async def test_a_thread_has_its_times_its_size_and_its_use(api: Api) -> None:
    thread_id = (await api.ask("one")).json()["thread_id"]
    await api.ask("two", thread_id=thread_id)
    text = (await api.entries(thread_id, turns=2)) and await api.state(thread_id)

    thread = (await api.http.get(f"{THREADS}/{thread_id}")).json()

    assert thread["agent"] == "Joker"
    assert thread["thread_id"] == thread["session_id"] == thread_id
    assert thread["message_count"] == 4
    assert thread["usage"] == {"input_token_count": 6, "output_token_count": 8, "total_token_count": 14}
    assert thread["created_at"] < thread["updated_at"]
    assert thread["size_bytes"] == pytest.approx(len(text), rel=0.2)
    assert thread["expires_at"] is None


@pytest.mark.behaviour("http.pages-messages")
async def test_a_conversation_is_read_page_by_page_from_either_end(direct: Api) -> None:
    """Each entry once, with its position; a range in between can be read too."""
    thread_id = (await direct.ask("m1")).json()["thread_id"]
    for number in (2, 3):
        await direct.ask(f"m{number}", thread_id=thread_id)
    url = f"{THREADS}/{thread_id}/messages"

    first = (await direct.http.get(url, params={"limit": 4})).json()
    second = (await direct.http.get(url, params={"limit": 4, "after": first["entries"][-1]["position"]})).json()
    newest = (await direct.http.get(url, params={"limit": 1, "order": "desc"})).json()
    between = (await direct.http.get(url, params={"after": 1, "before": 4})).json()

    texts = [entry["messages"][0]["contents"][0]["text"] for entry in first["entries"] + second["entries"]]
    assert texts == ["m1", "echo: m1", "m2", "echo: m2", "m3", "echo: m3"]
    assert (first["has_more"], second["has_more"], newest["has_more"]) == (True, False, True)
    assert [entry["position"] for entry in newest["entries"]] == [6]
    assert [(entry["position"], entry["type"]) for entry in between["entries"]] == [(2, "response"), (3, "request")]


@pytest.mark.behaviour("http.reads-what-ended")
async def test_an_answer_is_read_from_the_moment_that_its_run_has_ended(direct: Api) -> None:
    """Also when the entity's state is not committed yet, or was lost with its process."""
    run = (await direct.ask("hi")).json()
    await direct.entries(run["thread_id"])
    direct.forget_state(run["thread_id"])

    messages = (await direct.http.get(f"{THREADS}/{run['thread_id']}/messages")).json()

    assert [entry["run_id"] for entry in messages["entries"]] == [run["run_id"]] * 2
    assert messages["entries"][1]["messages"][0]["contents"][0]["text"] == "echo: hi"


@pytest.mark.behaviour("http.exports-threads")
async def test_an_export_holds_the_stored_document_and_the_runs(api: Api) -> None:
    run = (await api.ask("canary of the export")).json()
    await api.entries(run["thread_id"])

    export = (await api.http.get(f"{THREADS}/{run['thread_id']}/export")).json()

    assert export["conversation"] == json.loads(await api.state(run["thread_id"]) or "")
    assert [kept["accepted"]["run_id"] for kept in export["runs"]] == [run["run_id"]]
    assert export["runs"][0]["outcome"]["kind"] == "completed"
    assert (export["agent"], export["thread_id"]) == ("Joker", run["thread_id"])


@pytest.mark.behaviour("http.lists-runs")
async def test_the_runs_of_a_thread_are_listed_the_newest_first(direct: Api) -> None:
    first = (await direct.ask("one")).json()
    failed = (await direct.ask("fail", thread_id=first["thread_id"])).json()

    runs = (await direct.http.get(f"{THREADS}/{first['thread_id']}/runs")).json()["runs"]
    newest = (await direct.http.get(f"{THREADS}/{first['thread_id']}/runs", params={"limit": 1})).json()["runs"]

    assert [(run["run_id"], run["status"]) for run in runs] == [
        (failed["run_id"], "failed"),
        (first["run_id"], "success"),
    ]
    assert newest == runs[:1]
    assert runs[0]["created_at"] <= runs[0]["ended_at"]
    assert [(run["attempts"], run["usage"], run.get("code")) for run in runs] == [
        (1, {}, "run_failed"),
        (1, {"input_token_count": 3, "output_token_count": 4, "total_token_count": 7}, None),
    ]


@pytest.mark.behaviour("http.cancels-runs")
async def test_a_cancelled_run_stops_and_its_thread_goes_on(api: Api) -> None:
    """Its waiting caller gets 409, its status is cancelled, and the next run does not see it."""
    waiting = asyncio.create_task(api.ask("sleep 60", thread_id="cancel-running"))
    run_id = await open_run(api, "cancel-running")

    answer = await api.http.post(f"{THREADS}/cancel-running/runs/{run_id}/cancel")
    waited = await asyncio.wait_for(waiting, GUARD_SECONDS)

    assert (answer.status_code, answer.json()["run_id"]) == (202, run_id)
    assert (waited.status_code, waited.json()["code"]) == (409, "run_cancelled")
    status = (await api.http.get(f"{THREADS}/cancel-running/runs/{run_id}")).json()
    assert (status["status"], status["error"]["code"]) == ("cancelled", "run_cancelled")
    assert (await api.ask("recall", thread_id="cancel-running")).json()["response"] == "recall"


async def open_run(api: Api, thread_id: str) -> str:
    """Return the id of the run that a thread executes, once it does."""
    for _ in range(500):
        runs = (await api.http.get(f"{THREADS}/{thread_id}/runs")).json().get("runs", [])
        if runs and runs[0]["status"] == "running":
            return str(runs[0]["run_id"])
        await asyncio.sleep(0.01)
    raise AssertionError("the run did not start")


@pytest.mark.behaviour("turn.queue-limit")
async def test_a_thread_takes_so_many_runs_and_no_more(direct: Api) -> None:
    """The next is refused with the time to wait, and other threads are free."""
    runs = [await direct.ask("sleep 60", thread_id="queue-full", wait_for_response=False) for _ in range(32)]

    refused = await direct.ask("one too many", thread_id="queue-full")
    elsewhere = await direct.ask("hi", thread_id="queue-free")

    assert {run.status_code for run in runs} == {202}
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_runs")
    assert refused.headers["retry-after"] == "1"
    assert elsewhere.status_code == 200
    await cancelled(direct, runs[0])
    await direct.http.delete(f"{THREADS}/queue-full")


@pytest.mark.behaviour("http.resets-threads")
async def test_a_reset_forgets_the_conversation_and_keeps_the_thread(api: Api) -> None:
    """The model sees nothing of before; what was answered under a key is answered again."""
    key = {"Idempotency-Key": f"reset-{id(api)}"}
    body = {"message": "my name is Ada", "thread_id": f"reset-{id(api)}"}
    first = await api.http.post("/api/agents/Joker/run", json=body, headers=key)
    thread_id = first.json()["thread_id"]

    answer = await api.http.post(f"{THREADS}/{thread_id}/reset")

    assert (answer.status_code, answer.content) == (204, b"")
    assert (await api.http.get(f"{THREADS}/{thread_id}")).json()["message_count"] == 0
    assert (await api.http.get(f"{THREADS}/{thread_id}/messages")).json()["entries"] == []
    assert (await api.ask("recall", thread_id=thread_id)).json()["response"] == "recall"
    again = await api.http.post("/api/agents/Joker/run", json=body, headers=key)
    assert (again.json(), again.headers["idempotency-replayed"]) == (first.json(), "true")


@pytest.mark.behaviour("http.deletes-threads")
async def test_a_deleted_thread_is_gone_with_its_runs(api: Api) -> None:
    """The second time is as good; the thread's name is free for a new conversation."""
    key = {"Idempotency-Key": f"delete-{id(api)}"}
    body = {"message": "my name is Ada", "thread_id": f"delete-{id(api)}"}
    run = (await api.http.post("/api/agents/Joker/run", json=body, headers=key)).json()
    url = f"{THREADS}/{run['thread_id']}"

    answers = [(await api.http.delete(url)).status_code for _ in range(2)]

    assert answers == [204, 204]
    assert await api.state(run["thread_id"]) is None
    assert [(await api.http.get(f"{url}{route}")).status_code for route in ("", "/messages", "/runs")] == [404] * 3
    gone = await api.http.get(f"{url}/runs/{run['run_id']}")
    assert (gone.status_code, gone.json()["code"]) == (410, "thread_deleted")
    again = await api.http.post("/api/agents/Joker/run", json=body, headers=key)
    assert (again.status_code, again.json()["code"]) == (410, "thread_deleted")
    assert (await api.ask("recall", thread_id=run["thread_id"])).json()["response"] == "recall"


@pytest.mark.slow
@pytest.mark.behaviour("http.lists-threads")
async def test_threads_are_listed_page_by_page(socket: Api) -> None:
    """By the engine's documented API, each once, deleted ones left out."""
    for number in range(5):
        await socket.ask("hi", thread_id=f"list-{number}")
        await socket.entries(f"list-{number}")
    await socket.http.delete(f"{THREADS}/list-3")
    found: dict[str, str] = {}
    page = {"next_cursor": ""}
    while page["next_cursor"] is not None:
        page = (await socket.http.get(THREADS, params={"limit": 2, "cursor": page["next_cursor"]})).json()
        assert len(page["threads"]) <= 2
        found |= {thread["thread_id"]: thread["updated_at"] for thread in page["threads"]}

    assert [name for name in found if name.startswith("list-")] == ["list-0", "list-1", "list-2", "list-4"]
    assert found["list-0"] < found["list-4"]


@pytest.mark.behaviour("http.lists-agents")
async def test_the_agents_are_listed_with_their_doors(direct: Api) -> None:
    agents = {agent["name"]: agent for agent in (await direct.http.get("/api/agents")).json()["agents"]}

    assert agents["Joker"]["run_url"] == str(direct.http.base_url.join("/api/agents/Joker/run"))
    assert agents["Joker"]["mcp_tool"] == "Joker"
    assert (agents["quiet"]["run_url"], agents["quiet"]["threads_url"]) == (None, None)
    assert agents["quiet"]["description"] == "The scripted quiet."


REFUSED = [
    *(("GET", f"/nobody{rest}", UnknownThreadError) for rest in ("", "/messages", "/runs", "/export", "/erasure")),
    ("POST", "/nobody/reset", UnknownThreadError),
    ("GET", "/n%20o/messages", UnknownThreadError),
    ("POST", "/nobody/runs/nothing/cancel", UnknownRunError),
    ("POST", "/nobody/runs/n%20o/cancel", UnknownRunError),
    *(("GET", f"/t/messages?limit={limit}", InvalidFieldError) for limit in (0, 201)),
    ("GET", "/t/messages?order=up", InvalidFieldError),
    ("GET", "/t/messages?after=1.5", InvalidFieldError),
    ("GET", "/t/messages?before=x", InvalidFieldError),
    ("GET", "/t/runs?limit=many", InvalidFieldError),
    ("GET", "?cursor=%C3%BC", InvalidFieldError),
]


@pytest.mark.behaviour("http.unknown-places")
async def test_what_is_not_there_or_not_askable_is_refused(direct: Api) -> None:
    for method, path, error in REFUSED:
        answer = await direct.http.request(method, f"{THREADS}{path}")

        assert (answer.status_code, answer.json()["code"]) == (error.status, error.code), path


@pytest.mark.behaviour("http.unknown-places")
async def test_an_agent_without_an_http_endpoint_shows_no_threads(direct: Api) -> None:
    """Its conversations are its MCP tool's and its orchestrations'."""
    for path in ("", "/t", "/t/messages", "/t/runs", "/t/export"):
        answer = await direct.http.get(f"/api/agents/quiet/threads{path}")

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_agent"), path


async def started(api: Api, message: str, **fields: object) -> httpx.Response:
    """Start a run and do not wait for it."""
    answer = await api.ask(message, wait_for_response=False, **fields)
    assert answer.status_code == 202, answer.text
    return answer


async def cancelled(api: Api, run: httpx.Response) -> httpx.Response:
    """Ask for the end of a run."""
    return await api.http.post(f"{run.headers['location']}/cancel")


@pytest.mark.behaviour("http.cancels-runs")
async def test_a_queued_run_that_is_cancelled_never_starts_and_its_neighbours_do(direct: Api) -> None:
    """Cancelling twice, or after the end, is answered as the first time and changes nothing."""
    first = await started(direct, "meet 2", thread_id="cancel-queued")
    queued = await started(direct, "never", thread_id="cancel-queued")
    last = await started(direct, "recall", thread_id="cancel-queued")

    answers = [await cancelled(direct, queued) for _ in range(2)]
    await direct.ask("meet 2")

    assert [(answer.status_code, answer.json()["status"]) for answer in answers] == [(202, "cancelled")] * 2
    assert (await direct.ended(queued.headers["location"]))["status"] == "cancelled"
    assert (await direct.ended(first.headers["location"]))["response"] == "2 have met"
    assert (await direct.ended(last.headers["location"]))["response"] == "meet 2 | recall"
    assert (await cancelled(direct, last)).json()["status"] == "success"


GOOD = ["a", "A-b_c..d~e", ".hidden", "0" * 64, "null"]
BAD = ["a.", "..", "a" * 65, "a/b", "a%2e", "a?b", "a b", "@dafx-joker@a", "é", "ａ", "٣", "a\x01b", "a\n", "a\x00b"]
"""The last are letters and a digit that only look like ones of the alphabet, control characters and a line end."""


@pytest.mark.behaviour("http.one-alphabet")
async def test_no_path_names_a_thread_outside_the_alphabet(api: Api) -> None:
    """404, whatever the web server makes of it before us. `threads/..` leads to the agent."""
    for value in BAD:
        answer = await api.http.get(f"/api/agents/Joker/threads/{quote(value, safe='')}/messages")
        is_of_the_agent = answer.is_success and answer.json().get("kind") == "agent"
        assert answer.status_code in (400, 404) or is_of_the_agent, (value, answer.text)


@pytest.mark.behaviour("http.one-alphabet")
async def test_no_tool_call_or_carried_request_names_a_thread_or_a_run_outside_the_alphabet(
    direct_host: DirectHost,
) -> None:
    """A tool's error has the same code; the entity refuses what an orchestration calls, and keeps nothing."""
    for value in BAD:
        tool = await direct_host.call_tool("Joker", {"query": "hi", "threadId": value})
        assert tool["structuredContent"]["code"] == "invalid_thread_id", value
        for key, run_id in ((value, f"c-{id(value)}"), ("carried", value)):
            order = {"message": "hi", "correlationId": run_id}
            result = await direct_host.entities.call(ENTITY, key, "run", order)
            assert (result["isError"], "is not valid" in result["result"]) == (True, True), value
        assert f"@{ENTITY}@{value}" not in direct_host.entities.states


@pytest.mark.behaviour("http.one-alphabet")
async def test_every_id_of_the_alphabet_is_taken(direct: Api, direct_host: DirectHost) -> None:
    for value in GOOD:
        await direct.http.delete(f"/api/agents/Joker/threads/{value}")
        assert (await direct.ask("hi", sessionId=value)).json()["message_count"] == 2
        tool = await direct_host.call_tool("Joker", {"query": "count", "threadId": value})
        assert tool["structuredContent"]["response"] == "3"


NO_ROUTES = {
    "unknown_route": {
        "GET agents/Joker/memory": "No agent of this app remembers its callers",
        "DELETE agents/joker/memory/f": "No agent of this app remembers its callers",
        "GET agents/Joker/memory/": "No agent of this app remembers its callers",
        "GET agents/Joker/webhooks": "This app sends no webhooks: AGENT_WEBHOOK_SECRET is not set.",
        "POST agents/Joker/threads/t/runs/r/webhooks/agent": "This app sends no webhooks",
        "POST agents/Joker/schedules": "This app has no schedules: AGENT_SCHEDULES is 0.",
        "POST agents/Joker/threads/t/assign": "This app has no owners: its AgentFunctionApp has no principal=",
        "DELETE agents/Joker/threads/t/grants/g": "This app has no owners",
        "POST workflows/Write/run": "This app has no workflows. GET agents lists its agents.",
        "POST agents/Joker/threads/assign/x": "POST 'agents/Joker/threads/assign/x' is not a route",
        "GET agents/Joker/notes": "GET 'agents/Joker/notes' is not a route of this app. GET openapi.json lists",
        "DELETE agents": "DELETE 'agents' is not a route of this app.",
    },
    "method_not_allowed": {
        "GET agents/joker/run": "GET is not served here. Send POST agents/Joker/run.",
        "GET agents/joker/run/": "GET is not served here. Send POST agents/Joker/run.",
    },
    "unknown_agent": {
        "GET agents/bob/memory": "There is no agent 'bob' here. Agents: Joker.",
        "GET agents/%22%3Cb": "There is no agent",
    },
}
"""What is refused by each code, with the beginning of the sentence."""


@pytest.mark.behaviour("http.unknown-routes")
@pytest.mark.parametrize("code", NO_ROUTES)
async def test_a_route_that_the_app_does_not_have_is_refused_in_a_sentence(code: str) -> None:
    app = app_of(scripted_agent("Joker"), environ={"AGENT_LOG": "memory", "AGENT_SCHEDULES": "0"})
    async with served(app) as (_, http):
        for request_line, sentence in NO_ROUTES[code].items():
            method, _, path = request_line.partition(" ")
            answer = await http.request(method, f"/api/{path}")

            assert answer.status_code == (405 if code == "method_not_allowed" else 404)
            assert answer.headers["content-type"] == "application/problem+json"
            assert (answer.json()["code"], answer.json()["detail"][: len(sentence)]) == (code, sentence)


@pytest.mark.behaviour("http.unknown-routes")
async def test_who_is_not_signed_in_learns_nothing_of_what_the_app_has() -> None:
    async with served(app_of(scripted_agent("Joker"), principal=signed_in)) as (_, http):
        answers: list[httpx.Response] = [
            await http.get(f"/api/{path}") for path in ("agents/bob/memory", "workflows/x")
        ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(401, "unauthorized")] * 2
