"""Threads over HTTP, on both carriers: read, paged, exported, reset, deleted, and their runs cancelled."""

import asyncio
import json

import httpx
import pytest

from hosting.errors import InvalidFieldError, UnknownRunError, UnknownThreadError
from tests.support.carriers import GUARD_SECONDS, Api

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


@pytest.mark.behaviour("http.deletes-threads")
async def test_a_reset_and_a_deletion_at_one_moment_leave_no_thread(direct: Api) -> None:
    """Whichever is first, in the log and at the entity: three of six once came back."""
    threads = [f"reset-deleted-{number}" for number in range(6)]
    for thread in threads:
        await direct.ask("my name is Ada", thread_id=thread)

    async def reset_and_deleted(thread: str) -> tuple[bool, int]:
        reset = direct.http.post(f"{THREADS}/{thread}/reset")
        answers = await asyncio.gather(reset, direct.http.delete(f"{THREADS}/{thread}"))
        return answers[0].status_code in (204, 404, 409), answers[1].status_code

    answers = await asyncio.gather(*map(reset_and_deleted, threads))
    left = [thread for thread in threads if await direct.state(thread) is not None]
    names = [(await direct.ask("recall", thread_id=thread)).json()["response"] for thread in threads]

    assert (answers, left) == ([(True, 204)] * 6, [])
    assert names == ["recall"] * 6


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


@pytest.mark.behaviour("http.unknown-places")
@pytest.mark.parametrize(
    ("method", "path", "error"),
    [
        ("GET", "nobody", UnknownThreadError),
        ("GET", "nobody/messages", UnknownThreadError),
        ("GET", "nobody/runs", UnknownThreadError),
        ("GET", "nobody/export", UnknownThreadError),
        ("GET", "nobody/erasure", UnknownThreadError),
        ("POST", "nobody/reset", UnknownThreadError),
        ("GET", "n%20o/messages", UnknownThreadError),
        ("POST", "nobody/runs/nothing/cancel", UnknownRunError),
        ("POST", "nobody/runs/n%20o/cancel", UnknownRunError),
        ("GET", "t/messages?limit=0", InvalidFieldError),
        ("GET", "t/messages?limit=201", InvalidFieldError),
        ("GET", "t/messages?limit=-1", InvalidFieldError),
        ("GET", "t/messages?order=up", InvalidFieldError),
        ("GET", "t/messages?after=1.5", InvalidFieldError),
        ("GET", "t/messages?before=x", InvalidFieldError),
        ("GET", "t/runs?limit=many", InvalidFieldError),
        ("GET", "?cursor=%C3%BC", InvalidFieldError),
    ],
)
async def test_what_is_not_there_or_not_askable_is_refused(direct: Api, method: str, path: str, error: type) -> None:
    url = f"{THREADS}/{path}" if not path.startswith("?") else f"{THREADS}{path}"

    answer = await direct.http.request(method, url)

    assert (answer.status_code, answer.json()["code"]) == (error.status, error.code)


@pytest.mark.behaviour("http.unknown-places")
@pytest.mark.parametrize("path", ["threads", "threads/t", "threads/t/messages", "threads/t/runs", "threads/t/export"])
async def test_an_agent_without_an_http_endpoint_shows_no_threads(direct: Api, path: str) -> None:
    """Its conversations are its MCP tool's and its orchestrations'."""
    answer = await direct.http.get(f"/api/agents/quiet/{path}")

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_agent")


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
