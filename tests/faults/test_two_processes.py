"""Two processes of one app over one log: what both are asked at once happens once, and each tells of the other's runs.

One may be killed. The storms have the same of real processes over each real log.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx
import pytest
from agent_framework import ChatResponse, Message

from hosting.app import Budget, Limit
from hosting.core.thread.events import Cancelled
from hosting.names import Busy, StoreKey, store_space
from hosting.principal import Principal
from tests.support.ag_ui import events_of, folded, wanted
from tests.support.app.scripted import scripted_agent
from tests.support.cluster.cluster import HUB, LEASE_SECONDS, AppProcess, Cluster, call
from tests.support.spender import Spender, spender

pytestmark = pytest.mark.moved_time

RUN = "/api/agents/Joker/run"
THREADS = "/api/agents/Joker/threads"
Both = list[httpx.AsyncClient]


@pytest.fixture
async def both() -> AsyncIterator[Both]:
    """Clients of two processes."""
    cluster = Cluster(lambda: scripted_agent("Joker"), wires=["ag-ui"])
    yield [cluster.process().http, cluster.process().http]
    await cluster.close()


async def ask(http: httpx.AsyncClient, message: str, *, key: str = "", **fields: Any) -> httpx.Response:
    headers = {"idempotency-key": key} if key else {}
    return await http.post(RUN, json={"message": message, **fields}, headers=headers)


@pytest.mark.behaviour("turn.shared-log")
async def test_one_key_at_both_processes_at_once_is_one_run(both: Both) -> None:
    """Whichever opens it; the other attaches to it and gives the same answer."""
    answers = await asyncio.gather(*(ask(http, "sleep 0.2", key="at-both") for http in both * 4))

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["run_id"] for answer in answers}) == 1
    assert len([answer for answer in answers if "idempotency-replayed" not in answer.headers]) == 1


@pytest.mark.behaviour("turn.shared-log")
async def test_a_run_of_one_process_is_answered_and_cancelled_by_the_other(both: Both) -> None:
    one, two = both
    asking = asyncio.ensure_future(ask(one, "sleep 60", thread_id="t"))
    await asyncio.sleep(1)
    [run] = (await two.get(f"{THREADS}/t/runs")).json()["runs"]
    place = f"{THREADS}/t/runs/{run['run_id']}"

    cancelled = await two.post(f"{place}/cancel")
    told = (await asking).json()["code"]
    ended = [(await http.get(place)).json() for http in both]

    assert (run["status"], cancelled.status_code, told) == ("running", 202, "run_cancelled")
    assert (ended[0]["status"], ended[0]) == ("cancelled", ended[1])
    assert (await ask(one, "recall", thread_id="t")).json()["response"] == "recall"


@pytest.mark.behaviour("turn.shared-log")
async def test_runs_opened_by_both_at_once_are_all_kept(both: Both) -> None:
    answers = await asyncio.gather(*(ask(http, f"word-{number}") for number in range(20) for http in both))
    runs = [answer.json() for answer in answers]
    there = [(await both[1].get(f"{THREADS}/{run['thread_id']}/runs/{run['run_id']}")).json() for run in runs]

    assert len({run["run_id"] for run in runs}) == 40
    assert there == runs


@pytest.mark.behaviour("turn.shared-log")
async def test_the_bound_on_a_threads_runs_counts_those_of_both(both: Both) -> None:
    """32 wait or run, whoever took them; the next is 429 at either."""
    taken = [await ask(http, "hi", thread_id="t", wait_for_response=False) for http in both * 16]
    refused = [await ask(http, "hi", thread_id="t") for http in both]

    assert {answer.status_code for answer in taken} == {202}
    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(429, "too_many_runs")] * 2


@pytest.mark.behaviour("turn.busy")
async def test_of_requests_that_a_busy_thread_rejects_one_begins(both: Both) -> None:
    """Sent to both processes at once; each of the others is told of the one that began."""
    answers = await asyncio.gather(
        *(ask(http, "hi", thread_id="t", busy="reject", wait_for_response=False) for http in both * 8)
    )
    [began] = [answer for answer in answers if answer.status_code == 202]
    refused = [answer for answer in answers if answer is not began]

    assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(409, "thread_busy")}
    assert {answer.headers["x-ms-run-id"] for answer in refused} == {began.json()["run_id"]}


@pytest.mark.behaviour("batch.once")
async def test_a_batch_that_both_processes_get_at_once_has_each_run_once(both: Both) -> None:
    """Each begins those that the other has not begun, and both give the same answers."""
    body, key = {"requests": [{"message": f"sleep 0.{number}"} for number in range(1, 6)]}, {"idempotency-key": "k"}
    answers = await asyncio.gather(
        *(http.post("/api/agents/Joker/runs/batch", json=body, headers=key) for http in both)
    )
    results = [answer.json()["results"] for answer in answers]
    runs = [[result["run_id"] for result in each] for each in results]

    assert {result["status"] for each in results for result in each} == {200}
    assert runs[0] == runs[1]
    assert len({*runs[0]}) == 5


@pytest.mark.behaviour("thread.put-killed")
async def test_messages_and_state_that_both_write_at_once_all_stand(both: Both) -> None:
    """Under one key messages are put in once; each patch is made of the state that another one left."""

    async def put(http: httpx.AsyncClient, key: str) -> httpx.Response:
        body = {"messages": [{"message": key}]}
        return await http.post(f"{THREADS}/t/messages", json=body, headers={"idempotency-key": key})

    async def patch(http: httpx.AsyncClient, name: str) -> httpx.Response:
        return await http.patch(f"{THREADS}/t/state", json={"state": {name: {"x": 1}}})

    await put(both[0], "first")
    puts, patches = await asyncio.gather(
        asyncio.gather(*(put(http, f"key-{number}") for number in range(10) for http in both)),
        asyncio.gather(*(patch(http, f"n{number}") for number, http in enumerate(both))),
    )
    entries = [(await http.get(f"{THREADS}/t/messages", params={"limit": 200})).json()["entries"] for http in both]
    states = [(await http.get(f"{THREADS}/t/state")).json()["state"] for http in both]

    assert {answer.status_code for answer in puts} == {201}
    assert len({answer.json()["put_id"] for answer in puts}) == 10
    assert (len(entries[0]), entries[0]) == (11, entries[1])
    assert {answer.status_code for answer in patches} <= {200, 409}
    done = {f"n{number}": {"x": 1} for number, answer in enumerate(patches) if answer.status_code == 200}
    assert states == [done, done]


@pytest.mark.behaviour("ag-ui.asked-again-killed")
async def test_a_message_that_both_are_asked_again_at_once_is_taken_back_once(both: Both) -> None:
    """As by a page that drops the last answer, in two windows; both have the one new answer."""

    async def asked(http: httpx.AsyncClient, fields: dict[str, Any]) -> list[Any]:
        events = events_of((await http.post("/api/ag-ui/Joker", json=fields)).text)
        return folded(events, fields["messages"])

    shown = await asked(both[0], wanted("one", thread="page", run="r-1"))
    again = wanted(*shown[:-1], thread="page", run="r-2")
    pages = await asyncio.gather(*(asked(http, again) for http in both))
    entries = (await both[1].get(f"{THREADS}/page/messages")).json()["entries"]

    assert [message["content"] for message in pages[0]] == ["one", "echo: one"]
    assert pages[0] == pages[1]
    assert [entry["type"] for entry in entries] == ["request", "response"]
    assert len({entry["run_id"] for entry in entries}) == 1


@pytest.mark.behaviour("turn.busy-takes-over")
@pytest.mark.parametrize("dies", ["never", "while it speaks", "behind the acceptance of the next"])
@pytest.mark.parametrize("busy", ["interrupt", "rollback"])
async def test_the_words_of_a_run_are_kept_or_gone_whether_its_process_lives_or_not(
    cluster: Cluster, busy: Busy, dies: str
) -> None:
    """The other process begins the next run once the first has ended, and its agent sees what is kept of that."""
    one, other = cluster.process(), cluster.process()
    one.agent.gate.clear()
    first = await one.start(call("first", streams=True))
    await cluster.sleep(0.5)
    if dies == "while it speaks":
        one.die()
    second = await other.start(call("second", busy=busy))
    if dies.startswith("behind"):
        one.die()
        other.die()
        other = cluster.process()
    await cluster.deliver(other)
    first, second = [await other.runs.wait(run, other.engine, 60.0) for run in (first, second)]

    assert isinstance(first.end, Cancelled)
    kept = ["first", "echo: first"] if busy == "interrupt" else []
    assert first.end.code == ("run_superseded" if kept else "run_rolled_back")
    assert other.agent.turns == [[*kept, "second"]]
    texts = [entry["messages"][0]["contents"][0]["text"] for entry in other.entries()]
    assert texts == [*kept, "second", "echo: second"]


class Holding(Spender):
    """A model of 10 tokens a call, which stands at its third call while its gate is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.used = {"input_token_count": 6, "output_token_count": 4, "total_token_count": 10}
        self.goes_on = asyncio.Event()

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        if sum(message.role == "tool" for message in messages) == 2:
            await self.goes_on.wait()
        return await super().answer(messages, options)


def limited(runs_at_once: int) -> Cluster:
    """Return a cluster whose agent calls a tool for ever, with a budget of 60 tokens for a run, and limits."""
    limit = Limit(requests_per_minute=3, tokens_per_minute=1000, runs_at_once=runs_at_once)
    registered = {"budget": Budget(tokens=60)}
    return Cluster(lambda: spender("Joker", client=Holding()), registered=registered, limit=limit)


def goes_on(process: AppProcess) -> httpx.AsyncClient:
    """Let the process's model go on, and return its client."""
    process.agent.client.goes_on.set()
    return process.http


def standing(answer: httpx.Response) -> dict[str, int]:
    """Return how much is left of each limit."""
    parts = [limit.split(";") for limit in answer.headers["ratelimit"].split(", ")]
    return {name.strip('"'): int(left.removeprefix("r=")) for name, left, *_ in parts}


@pytest.mark.behaviour("turn.limit")
async def test_what_a_limit_counted_outlives_the_process_and_what_that_was_at_does_not() -> None:
    """Three requests are taken, by whichever process; the tokens of before the kill and of after it are the run's 60.

    What the dead process was at counts nowhere: the other one, and the one that is started again, have room.
    """
    cluster = limited(1)
    one, other = cluster.process(), cluster.process()
    first = asyncio.ensure_future(ask(one.http, "100", thread_id="t"))
    await cluster.sleep(1)
    full = await ask(one.http, "100", thread_id="u")
    first.cancel()
    one.die()
    two = goes_on(other)
    await cluster.sleep(LEASE_SECONDS)
    await cluster.deliver(other)
    [run] = (await two.get(f"{THREADS}/t/runs")).json()["runs"]
    started = goes_on(cluster.process())
    by_another, by_the_same = [await ask(http, "100", thread_id="u") for http in (two, started)]
    refused = [await ask(http, "100", thread_id="w") for http in (two, started)]
    await cluster.close()

    assert (run["code"], run["attempts"]) == ("budget_exceeded", 2)
    assert (full.status_code, full.json()["limit"]["of"]) == (429, "runs")
    assert [answer.status_code for answer in (by_another, by_the_same)] == [402, 402]
    assert standing(by_another) == {"requests": 1, "tokens": 940, "runs": 0}
    assert standing(by_the_same) == {"requests": 0, "tokens": 880, "runs": 0}
    assert [(answer.status_code, answer.json()["limit"]["of"]) for answer in refused] == [(429, "requests")] * 2


@pytest.mark.behaviour("turn.limit")
async def test_of_requests_that_two_processes_get_at_once_as_many_are_taken_as_the_limit_says() -> None:
    """And all others are refused, whichever process has them."""
    cluster = limited(50)
    two = [goes_on(cluster.process()) for _ in range(2)]
    answers = await asyncio.gather(*(ask(http, "100", thread_id=f"t{number}") for number, http in enumerate(two * 8)))
    await cluster.close()

    refused = [answer.json()["limit"]["of"] for answer in answers if answer.status_code == 429]
    assert sorted(answer.status_code for answer in answers) == [402] * 3 + [429] * 13
    assert set(refused) == {"requests"}


def of_users() -> Cluster:
    """Return a cluster whose callers have files of a megabyte in all."""
    return Cluster(
        lambda: scripted_agent("Joker"),
        settings={"AGENT_FILES_QUOTA_BYTES": "1000000"},
        principal=lambda request: Principal("https://login.example", request.headers.get("x-user", "ann")),
    )


@pytest.mark.behaviour("uploads.two-processes")
async def test_what_two_processes_do_with_a_file_at_once_happens_once() -> None:
    """A completion, the same content twice, a deletion; and nothing is left in the end."""
    cluster, content = of_users(), b"content " * 1000
    both = [cluster.process().http for _ in range(2)]
    upload = (await both[0].post("/api/uploads", json={"name": "a.txt", "bytes": len(content)})).json()["upload_id"]
    part = (await both[0].post(f"/api/uploads/{upload}/parts", content=content)).json()["part_id"]
    completed = await asyncio.gather(
        *(http.post(f"/api/uploads/{upload}/complete", json={"part_ids": [part]}) for http in both * 2)
    )
    again = await asyncio.gather(*(http.post("/api/files?name=b.txt", content=content) for http in both))
    files = [f"/api/files/{file['file_id']}" for file in (await both[1].get("/api/files")).json()["files"]]
    contents = [(await http.get(f"{file}/content")).content for http in both for file in files]
    deleted = await asyncio.gather(*(http.delete(file) for file in files for http in both))
    left = await cluster.attachments.put_between(store_space(HUB, "uploads"), 0.0, math.inf)
    await cluster.close()

    assert [answer.status_code for answer in (*completed, *again)] == [201] * 6
    assert len({answer.json()["file_id"] for answer in completed}) == 1
    assert (len(files), set(contents)) == (3, {content})
    assert sum(answer.json()["files"] for answer in deleted) == 3
    assert [await cluster.attachments.names(StoreKey(store_space(HUB, "uploads"), key)) for _, key in left] == []


@pytest.mark.behaviour("uploads.quota")
async def test_two_processes_give_an_owner_no_more_than_the_quota() -> None:
    """Eight files at once of which three have room: three are stored, and another owner has the whole quota."""
    cluster = of_users()
    both = [cluster.process().http for _ in range(2)]
    sent = await asyncio.gather(
        *(http.post(f"/api/files?name={n}.txt", content=bytes([n]) * 300_000) for n in range(4) for http in both)
    )
    bob = await both[0].post("/api/files?name=b.txt", content=b"b" * 1_000_000, headers={"x-user": "bob"})
    listed = (await both[1].get("/api/files")).json()["files"]
    erased = await asyncio.gather(*(http.delete("/api/owners/me") for http in both))
    after = await both[1].post("/api/files?name=a.txt", content=b"a" * 1_000_000)
    kept = await both[1].get(f"/api/files/{bob.json()['file_id']}/content", headers={"x-user": "bob"})
    await cluster.close()

    assert sorted(answer.status_code for answer in sent) == [201] * 3 + [409] * 5
    assert {answer.json()["code"] for answer in sent if answer.status_code == 409} == {"files_full"}
    assert (len(listed), kept.content) == (3, b"b" * 1_000_000)
    assert [answer.status_code for answer in (bob, *erased, after)] == [201, 200, 200, 201]
