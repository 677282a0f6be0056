"""The management API through ASGI, at both mounts: statuses, headers and bodies as recorded."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from devhost.durable.records import EntityId
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.scripted_functions import ScriptedEntities, entity_answer
from tests.devhost.durable.sdk_functions import SdkFunctions

pytestmark = pytest.mark.behaviour("engine.management-api")
ORIGIN = "http://localhost:7071/runtime/webhooks/durabletask"
HUB = "taskHub=TestHubName&connection=Storage"


@pytest.fixture(params=["/runtime/webhooks/durabletask", "/durabletask"])
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[RunningEngine]:
    async with running(SdkFunctions(build_app()), mount=request.param) as engine:
        yield engine


async def _start(engine: RunningEngine, name: str, instance_id: str, body: object = None) -> httpx.Response:
    content = b"" if body is None else json.dumps(body).encode()
    return await engine.client.post(f"/orchestrators/{name}/{instance_id}", content=content)


async def _waiting(engine: RunningEngine, instance_id: str = "w") -> None:
    """Start an orchestration that waits for an event, and return when it does."""
    await _start(engine, "two_events", instance_id)

    async def has_run() -> bool:
        stored = await engine.store.orchestration(instance_id)
        return stored is not None and bool(stored.history)

    await engine.store.until(has_run)


async def test_a_start_answers_202_with_the_addresses_of_the_instance(engine: RunningEngine) -> None:
    """No rewind address, this order, the caller's origin."""
    reply = await _start(engine, "chain", "c1", "x")
    instance = f"{ORIGIN}/instances/c1"
    assert reply.status_code == 202
    assert list(reply.json().items()) == [
        ("id", "c1"),
        ("statusQueryGetUri", f"{instance}?{HUB}"),
        ("sendEventPostUri", f"{instance}/raiseEvent/{{eventName}}?{HUB}"),
        ("terminatePostUri", f"{instance}/terminate?reason={{text}}&{HUB}"),
        ("purgeHistoryDeleteUri", f"{instance}?{HUB}"),
        ("restartPostUri", f"{instance}/restart?{HUB}"),
        ("suspendPostUri", f"{instance}/suspend?reason={{text}}&{HUB}"),
        ("resumePostUri", f"{instance}/resume?reason={{text}}&{HUB}"),
    ]
    assert reply.headers["Location"] == f"{instance}?{HUB}"
    assert reply.headers["Retry-After"] == "10"
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"


async def test_an_id_is_escaped_in_its_addresses(engine: RunningEngine) -> None:
    """Whatever letters it has, the address leads to it."""
    reply = await engine.client.post("/orchestrators/chain/%40a%23%20b")
    await engine.store.until_ended("@a# b")
    assert reply.headers["Location"] == f"{ORIGIN}/instances/%40a%23%20b?{HUB}"
    assert (await engine.client.get("/instances/%40a%23%20b")).json()["instanceId"] == "@a# b"


async def test_a_start_with_broken_json_is_400(engine: RunningEngine) -> None:
    """Whatever the content type."""
    reply = await engine.client.post("/orchestrators/chain/bad", content=b"{bad")
    assert (reply.status_code, reply.json()["Message"]) == (400, "Invalid JSON content")
    assert (await engine.client.get("/instances/bad")).status_code == 404


@pytest.mark.behaviour("engine.id-reuse")
async def test_a_running_id_refuses_a_second_start_and_an_ended_one_takes_it(engine: RunningEngine) -> None:
    """409 with both keys that clients read; later a new generation, with a new creation time."""
    await _waiting(engine)
    reply = await _start(engine, "chain", "w")
    assert reply.status_code == 409
    assert reply.json()["Message"] == "An Orchestration instance with the status Running already exists."
    await engine.client.post("/instances/w/terminate")
    await engine.store.until_ended("w")
    assert (await _start(engine, "chain", "w", 1)).status_code == 202
    await engine.store.until_ended("w")
    history = await engine.client.get("/instances/w?showHistory=True")
    assert history.json()["historyEvents"][0]["Generation"] == 1


async def test_an_ended_instance_is_200_with_its_body_in_the_recorded_order(engine: RunningEngine) -> None:
    """Input as stored (a string of JSON from the SDK), output parsed, times to the second."""
    await _start(engine, "child", "c1", json.dumps({"v": 1}))
    await engine.store.until_ended("c1")
    reply = await engine.client.get("/instances/c1")
    body = reply.json()
    times = {body.pop("createdTime"), body.pop("lastUpdatedTime")}
    assert reply.status_code == 200
    assert all(len(moment) == len("2026-01-01T00:00:00Z") for moment in times)
    assert list(body.items()) == [
        ("name", "child"),
        ("instanceId", "c1"),
        ("runtimeStatus", "Completed"),
        ("input", '{"v": 1}'),
        ("customStatus", None),
        ("output", {"child": {"v": 1}}),
    ]


async def test_the_history_merges_requests_into_their_ends(engine: RunningEngine) -> None:
    """Episodes are hidden, results are shown only on request."""
    await _start(engine, "fails", "f")
    await engine.store.until_ended("f")
    reply = await engine.client.get("/instances/f?showHistory=true&showHistoryOutput=true")
    started, completed, ended = reply.json()["historyEvents"]
    assert list(started) == [
        "EventType",
        "Input",
        "Correlation",
        "ParentTraceContext",
        "ScheduledStartTime",
        "Generation",
        "GenerateNewTrace",
        "Timestamp",
        "FunctionName",
    ]
    assert list(completed) == ["EventType", "Result", "Timestamp", "ScheduledTime", "FunctionName", "Input"]
    assert (completed["EventType"], completed["Result"], completed["FunctionName"]) == ("TaskCompleted", 1, "echo")
    assert list(ended) == ["EventType", "OrchestrationStatus", "Result", "FailureDetails", "Timestamp"]
    assert ended["OrchestrationStatus"] == "Failed"
    without = await engine.client.get("/instances/f?showHistory=true")
    assert "Result" not in without.json()["historyEvents"][1]


async def test_another_task_hub_is_not_here(engine: RunningEngine) -> None:
    """The name of this one is read without case."""
    await _waiting(engine)
    assert (await engine.client.get("/instances/w?taskHub=other")).status_code == 404
    assert (await engine.client.get("/instances/w?taskHub=testhubname")).status_code == 202


async def test_what_does_not_exist_is_an_empty_404(engine: RunningEngine) -> None:
    """Unknown instances, verbs, methods and paths alike."""
    requests = [
        ("GET", "/instances/nobody"),
        ("POST", "/instances/nobody/terminate"),
        ("POST", "/instances/nobody/suspend"),
        ("POST", "/instances/nobody/resume"),
        ("POST", "/instances/nobody/raiseEvent/go"),
        ("DELETE", "/instances/nobody"),
        ("GET", "/orchestrators/chain/x"),
        ("GET", "/entities/counter/nobody"),
        ("POST", "/nothing"),
    ]
    for method, path in requests:
        content = b"1" if "raiseEvent" in path else b""
        reply = await engine.client.request(method, path, content=content, headers={"Content-Type": "application/json"})
        assert (path, reply.status_code, reply.content) == (path, 404, b"")


async def test_events_terminate_and_suspend_of_an_ended_instance_are_an_empty_410(engine: RunningEngine) -> None:
    """It is gone, not unknown."""
    await _start(engine, "chain", "c")
    await engine.store.until_ended("c")
    for verb in ("raiseEvent/go", "terminate", "suspend", "resume"):
        reply = await engine.client.post(f"/instances/c/{verb}", json=1)
        assert (verb, reply.status_code, reply.content) == (verb, 410, b"")


async def test_an_event_must_be_json_and_say_so(engine: RunningEngine) -> None:
    """400 for other content types, broken and empty bodies."""
    await _waiting(engine)
    post = engine.client.post
    refused = await post("/instances/w/raiseEvent/go", content=b"1", headers={"Content-Type": "text/plain"})
    assert refused.status_code == 400
    assert refused.json() == {"Message": "Only application/json request content is supported"}
    assert (await post("/instances/w/raiseEvent/go")).json() == refused.json()
    for body in (b"{bad", b""):
        broken = await post("/instances/w/raiseEvent/go", content=body, headers={"Content-Type": "application/json"})
        assert (broken.status_code, broken.json()["Message"]) == (400, "Invalid JSON content")


@pytest.mark.behaviour("engine.suspended")
async def test_a_suspended_instance_shows_its_reason_and_goes_on_when_resumed(engine: RunningEngine) -> None:
    """Events are taken meanwhile; the end is held back. A second suspend, or a resume too many, is 500."""
    await _waiting(engine)
    assert (await engine.client.post("/instances/w/suspend?reason=pause")).status_code == 202
    await engine.store.until(lambda: _has_status(engine, "w", "Suspended"))
    body = (await engine.client.get("/instances/w")).json()
    assert body["output"] == "pause"
    twice = await engine.client.post("/instances/w/suspend")
    assert twice.status_code == 500
    assert twice.json()["ExceptionMessage"] == (
        "Cannot suspend the orchestration instance w because instance is in the Suspended state."
    )
    for value in (1, 2):
        await engine.client.post("/instances/w/raiseEvent/go", json=value)
    await engine.store.until(lambda: _has_events(engine, "w", 2))
    assert await _has_status(engine, "w", "Suspended")
    assert (await engine.client.post("/instances/w/resume")).status_code == 202
    ended = await engine.store.until_ended("w")
    assert json.loads(ended.output or "") == [1, 2]


async def _has_status(engine: RunningEngine, instance_id: str, status: str) -> bool:
    stored = await engine.store.orchestration(instance_id)
    return stored is not None and stored.instance.status.value == status


async def _has_events(engine: RunningEngine, instance_id: str, count: int) -> bool:
    stored = await engine.store.orchestration(instance_id)
    return stored is not None and sum(type(event).__name__ == "EventRaised" for event in stored.history) == count


@pytest.mark.behaviour("engine.restart")
async def test_a_restart_runs_the_same_input_under_a_new_id_or_its_own(engine: RunningEngine) -> None:
    """New id by default; its own only once it has ended."""
    await _start(engine, "child", "c", "5")
    await engine.store.until_ended("c")
    new_id = (await engine.client.post("/instances/c/restart")).json()["id"]
    assert json.loads((await engine.store.until_ended(new_id)).output or "") == {"child": 5}
    same = await engine.client.post("/instances/c/restart?restartWithNewInstanceId=false")
    assert (same.status_code, same.json()["id"]) == (202, "c")
    generations = [await _generation(engine, name) for name in (new_id, "c")]
    assert generations == [0, 1]
    await _waiting(engine)
    busy = await engine.client.post("/instances/w/restart?restartWithNewInstanceId=false")
    assert busy.status_code == 409
    assert busy.json()["Message"] == "A non-terminal instance with this instance ID already exists."
    unknown = await engine.client.post("/instances/nobody/restart")
    assert unknown.status_code == 400


async def _generation(engine: RunningEngine, instance_id: str) -> int:
    await engine.store.until_ended(instance_id)
    history = await engine.client.get(f"/instances/{instance_id}?showHistory=true")
    generation: int = history.json()["historyEvents"][0]["Generation"]
    return generation


async def test_a_rewind_is_202_for_a_failed_instance_alone(engine: RunningEngine) -> None:
    """404 and 412 as recorded; the rewound one fails again, because its own code raises."""
    await _start(engine, "fails", "f")
    await engine.store.until_ended("f")
    await _waiting(engine)
    replies = [await engine.client.post(f"/instances/{name}/rewind") for name in ("nobody", "w", "f")]
    assert [reply.status_code for reply in replies] == [404, 412, 202]
    assert replies[0].json() == 'No orchestration with instance ID "$nobody" found.'
    assert replies[1].json().startswith("This orchestration has status Running, but only")
    ended = await engine.store.until_ended("f")
    assert ended.status.value == "Failed"


@pytest.mark.behaviour("engine.purge")
async def test_a_purge_forgets_what_has_ended_and_refuses_what_has_not(engine: RunningEngine) -> None:
    """The count, or 412 with the status."""
    await _start(engine, "chain", "c")
    await engine.store.until_ended("c")
    assert (await engine.client.delete("/instances/c")).json() == {"instancesDeleted": 1}
    assert (await engine.client.get("/instances/c")).status_code == 404
    await _waiting(engine)
    refused = await engine.client.delete("/instances/w")
    assert refused.status_code == 412
    assert refused.json().endswith("but the orchestration with instance ID w has status Running")


@pytest.mark.behaviour("engine.purge")
async def test_a_bulk_purge_never_takes_running_instances_or_entities(engine: RunningEngine) -> None:
    """The real host deletes everything when asked for Running; here only what has ended goes."""
    await _start(engine, "chain", "c")
    await engine.store.until_ended("c")
    await _waiting(engine)
    await engine.client.post("/entities/counter/k?op=add", content=b"5", headers={"Content-Type": "text/plain"})
    assert (await engine.client.delete("/instances")).status_code == 400
    since = "createdTimeFrom=2001-01-01T00:00:00Z"
    assert (await engine.client.delete(f"/instances?{since}&runtimeStatus=Running")).status_code == 404
    assert (await engine.client.delete(f"/instances?{since}")).json() == {"instancesDeleted": 1}
    assert (await engine.client.get("/instances/w")).status_code == 202


async def test_instances_and_entities_are_listed_together_in_pages(engine: RunningEngine) -> None:
    """Ordered by id; the token is the next id in base64."""
    for name in ("b", "a"):
        await _start(engine, "chain", name)
        await engine.store.until_ended(name)
    await engine.client.post("/entities/Counter/K?op=add", content=b"5", headers={"Content-Type": "text/plain"})
    await engine.state_is(EntityId("counter", "K"), "5")
    first = await engine.client.get("/instances?top=2")
    assert [item["instanceId"] for item in first.json()] == ["@counter@K", "a"]
    assert first.json()[0]["input"] == {"exists": True, "state": "5", "sorter": {}}
    token = {"x-ms-continuation-token": first.headers["x-ms-continuation-token"]}
    second = await engine.client.get("/instances?top=2", headers=token)
    assert [item["instanceId"] for item in second.json()] == ["b"]
    assert (await engine.client.get("/instances?top=-1")).status_code == 500
    assert (await engine.client.get("/instances?top=0")).json() == []


async def test_a_status_shows_what_an_instance_comes_from(engine: RunningEngine) -> None:
    """The version and the parent where it has them, and in its parent's history the child's id."""
    await engine.client.post("/orchestrators/chain/v?version=1.2")
    await _start(engine, "parent", "p", json.dumps(None))
    await engine.store.until_ended("p")

    versioned = (await engine.client.get("/instances/v")).json()
    parent = (await engine.client.get("/instances/p?showHistory=true")).json()
    children = [event for event in parent["historyEvents"] if event["EventType"].startswith("SubOrchestration")]
    child = (await engine.client.get(f"/instances/{children[0]['InstanceId']}")).json()

    assert list(versioned)[:3] == ["name", "version", "instanceId"]
    assert list(child)[:3] == ["name", "instanceId", "parentInstanceId"]
    assert (versioned["version"], child["parentInstanceId"]) == ("1.2", "p")
    assert {"version", "parentInstanceId"} & parent.keys() == set()
    assert list(children[0])[-3:] == ["FunctionName", "InstanceId", "Input"]


async def test_the_last_page_has_no_token_for_clients_and_an_empty_one_for_the_app(engine: RunningEngine) -> None:
    """As seen on the real host: who goes on while there is a token never ends, unless an empty one is none."""
    await _start(engine, "chain", "a")
    pages = [await engine.client.get(path) for path in ("/instances", "/entities", "/entities/counter?top=1")]

    is_of_the_app = str(engine.client.base_url).endswith("7071/durabletask/")
    expected = "" if is_of_the_app else None
    assert [page.headers.get("x-ms-continuation-token") for page in pages] == [expected] * 3


async def test_lists_are_filtered_by_status_prefix_and_time(engine: RunningEngine) -> None:
    """Names and numbers of statuses work; what cannot be read is ignored."""
    await _start(engine, "chain", "done")
    await engine.store.until_ended("done")
    await _waiting(engine, "wait")

    async def listed(query: str) -> list[str]:
        return [item["instanceId"] for item in (await engine.client.get(f"/instances/?{query}")).json()]

    assert await listed("runtimeStatus=Completed,Failed") == ["done"]
    assert await listed("runtimeStatus=1&runtimeStatus=3") == ["done"]
    assert await listed("runtimeStatus=Bogus") == ["done", "wait"]
    assert await listed("instanceIdPrefix=wa") == ["wait"]
    assert await listed("createdTimeFrom=2099-01-01T00:00:00Z") == []
    assert await listed("createdTimeFrom=yesterday") == ["done", "wait"]
    assert await listed("createdTimeTo=2001-01-01T00:00:00.0000000Z") == []


async def test_a_start_that_waits_answers_the_output_or_else_the_addresses(engine: RunningEngine) -> None:
    """200 with the raw output, 200 with the status of a failure, 202 when the time is over."""
    done = await engine.client.post("/orchestrators/chain/c?timeout=60&pollingInterval=0.05")
    assert (done.status_code, done.json()) == (200, [1, ["a", {"p": 1}], None])
    failed = await engine.client.post("/orchestrators/fails/f?timeout=60&pollingInterval=0.05")
    assert (failed.status_code, failed.json()["runtimeStatus"]) == (200, "Failed")
    late = await engine.client.post("/orchestrators/two_events/w?timeout=0.1&pollingInterval=0.05")
    assert (late.status_code, late.json()["id"]) == (202, "w")


async def test_a_signal_is_202_and_text_reaches_python_as_json(engine: RunningEngine) -> None:
    """Text is wrapped once more, so that the entity's double decoding finds 5; JSON travels as it is."""
    plain = {"Content-Type": "text/plain"}
    reply = await engine.client.post("/entities/Counter/k?op=add", content=b"5", headers=plain)
    assert (reply.status_code, reply.content) == (202, b"")
    await engine.state_is(EntityId("counter", "k"), "5")
    wrapped = {"Content-Type": "application/json"}
    await engine.client.post("/entities/counter/k?op=add", content=b'"7"', headers=wrapped)
    await engine.state_is(EntityId("counter", "k"), "12")
    assert (await engine.client.get("/entities/counter/k")).text == "12"


@pytest.mark.behaviour("engine.unheard-failures")
@pytest.mark.parametrize("body", [b"5", b'"x"'])
async def test_json_that_python_cannot_decode_twice_fails_its_operation_and_the_log_says_so(
    engine: RunningEngine, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """As on the real host, recorded for `5`: the JSON travels as it is, the SDK fails on it, the state stays null."""
    reply = await engine.client.post(
        "/entities/counter/k?op=add", content=body, headers={"Content-Type": "application/json"}
    )
    await engine.state_is(EntityId("counter", "k"), "null")
    assert (reply.status_code, (await engine.client.get("/entities/counter/k")).text) == (202, "null")
    assert "@counter@k: the signal 'add' failed, and no caller sees it: " in caplog.text


@pytest.mark.behaviour("engine.missing-by-name")
async def test_a_signal_that_cannot_arrive_is_400(engine: RunningEngine) -> None:
    """Unknown entity, forbidden key, broken JSON; a slash in the key is another path."""
    unknown = await engine.client.post("/entities/nobody/k?op=add")
    assert unknown.status_code == 400
    assert unknown.json()["Message"] == (
        "The function 'nobody' doesn't exist, is disabled, or is not an entity function. "
        "Additional info: The following are the known entity functions: 'Counter'."
    )
    assert (await engine.client.post("/entities/counter/a%23b?op=add")).status_code == 400
    json_type = {"Content-Type": "application/json"}
    broken = await engine.client.post("/entities/counter/k?op=add", content=b"{bad", headers=json_type)
    assert broken.json()["Message"].startswith("Could not parse JSON content: ")
    assert (await engine.client.post("/entities/counter/a%2Fb?op=add")).status_code == 404


async def test_a_deleted_entity_reads_null_and_an_unknown_one_404(engine: RunningEngine) -> None:
    """DELETE is a signal; the record stays, as on the real host."""
    await engine.client.post("/entities/counter/k?op=add", content=b"5", headers={"Content-Type": "text/plain"})
    await engine.state_is(EntityId("counter", "k"), "5")
    assert (await engine.client.delete("/entities/counter/k")).status_code == 202
    await engine.state_is(EntityId("counter", "k"), "null")
    reply = await engine.client.get("/entities/counter/k")
    assert (reply.status_code, reply.json()) == (200, None)
    assert (await engine.client.get("/entities/counter/other")).status_code == 404
    assert (await engine.client.delete("/instances/@counter@k")).json() == {"instancesDeleted": 1}
    assert (await engine.client.get("/entities/counter/k")).status_code == 404


async def test_entities_are_listed_with_their_state_on_request(engine: RunningEngine) -> None:
    """By key; without `fetchState` the state is null."""
    for key in ("b", "a"):
        await engine.client.post(
            f"/entities/counter/{key}?op=add", content=b"1", headers={"Content-Type": "text/plain"}
        )
        await engine.state_is(EntityId("counter", key), "1")
    with_state = await engine.client.get("/entities/Counter?fetchState=true&top=1")
    (entry,) = with_state.json()
    assert list(entry) == ["entityId", "lastOperationTime", "state"]
    assert (entry["entityId"], entry["state"]) == ({"name": "counter", "key": "a"}, 1)
    assert "x-ms-continuation-token" in with_state.headers
    everything = await engine.client.get("/entities")
    assert [(item["entityId"]["key"], item["state"]) for item in everything.json()] == [("a", None), ("b", None)]
    assert (await engine.client.get("/entities/nobody")).json() == []


async def test_an_entity_reads_as_compact_json_whatever_its_text() -> None:
    """Python's json writes spaces; the real host does not. A text that is no JSON is answered as it is."""

    async def keep(payload: dict[str, Any]) -> str:
        return json.dumps(json.loads(entity_answer(None)) | {"entityState": json.loads(payload["batch"][0]["input"])})

    async with running(ScriptedEntities(keep)) as engine:
        for key, state in (("json", '{"n": 1.0, "é":  [1, 2]}'), ("text", "no JSON")):
            await engine.hub.signal(EntityId("counter", key), "keep", json.dumps(state))
            await engine.state_is(EntityId("counter", key), state)
        replies = [(await engine.client.get(f"/entities/counter/{key}")).text for key in ("json", "text")]
    assert replies == ['{"n":1.0,"é":[1,2]}', "no JSON"]
