"""`limit`, over HTTP and by the other doors: requests of a caller in a minute, and runs at once (budgets.md)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.app import AgentFunctionApp, Limit
from hosting.errors import ConfigurationError
from tests.support.a2a import HEADERS, message
from tests.support.ag_ui import wanted
from tests.support.app.scripted import scripted_agent
from tests.support.cluster.cluster import AGENT, Cluster, EchoAgent
from tests.support.made_app import app_of, served
from tests.support.owned_app import signed_in

RUN = "/api/agents/Joker/run"
THREADS = "/api/agents/Joker/threads"
TWO = Limit(requests_per_minute=2)
RPC = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("hi")}}


@asynccontextmanager
async def _processes(*apps: AgentFunctionApp) -> AsyncIterator[list[httpx.AsyncClient]]:
    async with AsyncExitStack() as stack:
        yield [(await stack.enter_async_context(served(app)))[1] for app in apps]


async def _ask(http: httpx.AsyncClient, thread_id: str, user: str = "ada", key: str | None = None) -> httpx.Response:
    headers = {"x-user": user, **({} if key is None else {"Idempotency-Key": key})}
    return await http.post(RUN, json={"message": "hi", "thread_id": thread_id}, headers=headers)


@pytest.mark.behaviour("http.request-limit")
async def test_a_caller_sends_so_many_requests_in_a_minute_to_all_processes(tmp_path: Path) -> None:
    """The next one is refused before anything is stored, and told when to come again; another caller is not."""
    environ = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    apps = (app_of(scripted_agent("Joker"), limit=TWO, principal=signed_in, environ=environ) for _ in range(2))
    async with _processes(*apps) as (one, two):
        taken = [await _ask(one, "t1"), await _ask(two, "t2")]
        refused = [await _ask(http, "t3") for http in (one, two)]
        other = await _ask(two, "t1", user="bob")
        threads = (await one.get(THREADS, headers={"x-user": "ada"})).json()["threads"]

    assert [answer.status_code for answer in (*taken, *refused, other)] == [200, 200, 429, 429, 200]
    assert sorted(thread["thread_id"] for thread in threads) == ["t1", "t2"]
    for answer in refused:
        seconds = answer.headers["retry-after"]
        assert 1 <= int(seconds) <= 61
        assert answer.headers["ratelimit-policy"] == '"requests";q=2;w=60'
        assert answer.headers["ratelimit"] == f'"requests";r=0;t={seconds}'
        problem = answer.json()
        assert (problem["code"], problem["thread_id"]) == ("limit_exceeded", "t3")
        assert problem["limit"] == {"of": "requests", "per": "owner/minute", "most": 2, "left": 0}
        assert problem["detail"] == f"You may send 2 of these requests in a minute, and have. Try again in {seconds} s."


@pytest.mark.behaviour("http.request-limit")
async def test_a_request_that_was_taken_is_never_refused_when_it_is_sent_again() -> None:
    """By its key, whatever the limit says; another request with a key is. So is a key of a run that is no more."""
    async with served(app_of(scripted_agent("Joker"), limit=TWO, principal=signed_in)) as (_, http):
        first = await _ask(http, "t", key="k")
        await _ask(http, "t")
        again, other = await _ask(http, "t", key="k"), await _ask(http, "t", key="k2")
        await http.delete(f"{THREADS}/t", headers={"x-user": "ada"})
        gone = await _ask(http, "t", key="k")

    assert (again.status_code, again.json()["run_id"]) == (200, first.json()["run_id"])
    assert again.headers["idempotency-replayed"] == "true"
    assert (other.status_code, gone.status_code) == (429, 410)


class _Failing(EchoAgent):
    """An agent whose runs fail."""

    name = "Poet"

    def run(self, messages: Any = None, **options: Any) -> Any:
        raise ValueError("no ink")


@pytest.mark.moved_time
@pytest.mark.behaviour("http.run-limit")
async def test_a_process_is_at_work_on_so_many_threads_of_an_agent_at_once() -> None:
    """A request to a thread at work waits there and is none more; when one has ended there is room again."""
    cluster = Cluster(registered={"limit": Limit(runs_at_once=2)})
    app = cluster.process()

    async def post(thread_id: str, **fields: Any) -> httpx.Response:
        body = {"message": "hi", "thread_id": thread_id, **fields}
        return await app.http.post(f"/api/agents/{AGENT}/run", json=body)

    app.agent.gate.clear()
    working = [asyncio.ensure_future(post(name)) for name in ("t1", "t2")]
    await cluster.sleep(1)
    refused, queued = await post("t3"), await post("t1", wait_for_response=False)
    not_there = await app.http.get(f"/api/agents/{AGENT}/threads/t3")
    app.agent.gate.set()
    ended = [(await answer).status_code for answer in working]
    after = await post("t3")
    await cluster.close()

    assert (refused.status_code, not_there.status_code) == (429, 404)
    assert (queued.status_code, ended, after.status_code) == (202, [200, 200], 200)
    assert (refused.json()["code"], refused.headers["retry-after"]) == ("limit_exceeded", "1")
    assert refused.json()["limit"] == {"of": "runs", "per": "process", "most": 2, "left": 0}
    assert refused.headers["ratelimit-policy"] == '"runs";q=2;qu="concurrent-requests"'
    assert refused.headers["ratelimit"] == '"runs";r=0;t=1'


WIRED = {"model": "Joker", "input": "hi"}
ANSWERS: list[tuple[str, str, dict[str, Any] | None, int]] = [
    ("POST", "agents/Joker/run", {"message": "hi", "thread_id": "t"}, 200),
    ("POST", "agents/Joker/run", {"message": "hi", "wait_for_response": False}, 202),
    ("POST", "agents/Joker/run", {"message": "ho", "thread_id": "t"}, 409),
    ("POST", "agents/Joker/run", {"message": ""}, 400),
    ("POST", "agents/Poet/run", {"message": "fail"}, 500),
    ("POST", "agents/Poet/run", {"message": "again"}, 429),
    ("POST", "agents/{name}/threads/t/fork", {}, 201),
    ("GET", "agents/{name}/threads/t/runs", None, 200),
    ("POST", "openai/v1/responses", WIRED, 200),
    ("POST", "openai/v1/responses", {**WIRED, "stream": True}, 200),
    ("POST", "openai/v1/responses", {**WIRED, "input": ""}, 400),
    ("POST", "openai/v1/responses", {**WIRED, "model": "Poet"}, 429),
    ("POST", "openai/v1/conversations", {"metadata": {"agent_id": "Joker"}}, 200),
    ("GET", "openai/v1/models", None, 200),
    ("POST", "ag-ui/{name}", wanted("hi"), 200),
    ("POST", "ag-ui/{name}", {**wanted("hi"), "messages": []}, 400),
    ("POST", "a2a/{name}", RPC, 200),
    ("GET", "a2a/{name}/.well-known/agent-card.json", None, 200),
]
"""Of each door what it answers to which request: its path as the document has it, with Joker for a name."""


@pytest.mark.behaviour("openapi.limit-headers")
@pytest.mark.parametrize("limit", [Limit(requests_per_minute=90), None], ids=["limited", "not limited"])
async def test_the_document_has_the_headers_of_a_limit_exactly_where_they_are_sent(limit: Limit | None) -> None:
    """By every door, with answers of every kind; what the document has of an answer is what came."""
    app = app_of(scripted_agent("Joker"), limit=limit, wires=["responses", "a2a", "ag-ui"])
    failing: Any = _Failing()
    app.add_agent(failing, limit=Limit(requests_per_minute=1) if limit else None)
    async with served(app) as (_, http):
        paths = (await http.get("/api/openapi.json")).json()["paths"]
        for method, path, body, status in ANSWERS:
            key = {"Idempotency-Key": "k"} if "thread_id" in (body or ()) else {}
            sent = {**HEADERS, **key}
            answer = await http.request(method, f"/api/{path.replace('{name}', 'Joker')}", json=body, headers=sent)
            described = paths[f"/{path.replace('/t/', '/{thread_id}/')}"][method.lower()]["responses"]
            documented = described[str(answer.status_code)].get("headers", {}).keys() & {
                "RateLimit",
                "RateLimit-Policy",
            }

            if limit or status != 429:
                assert answer.status_code == status, (path, body, answer.text)
            assert {name.lower() for name in documented} == {*answer.headers} & {"ratelimit", "ratelimit-policy"}, path


@pytest.mark.behaviour("http.request-limit")
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (Limit, r"A Limit limits nothing. Give requests_per_minute=... or tokens_per_minute=... or runs_at_once=..."),
        (lambda: Limit(requests_per_minute=0), "requests_per_minute of a Limit is '0'. Give 1 to 1,000,000."),
        (lambda: Limit(runs_at_once=True), "runs_at_once of a Limit is 'True'"),
        (lambda: Limit(runs_at_once=2.5), "runs_at_once of a Limit is '2.5'"),  # type: ignore[arg-type]
        (lambda: Limit(tokens_per_minute=-1), "tokens_per_minute of a Limit is '-1'. Give 1 to 1,000,000,000."),
        (lambda: app_of(scripted_agent("Joker"), limit=60), r"limit of agent 'Joker' is a int. Give Limit\("),
    ],
)
def test_a_limit_that_is_none_is_refused_at_the_start(given: Any, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        given()
