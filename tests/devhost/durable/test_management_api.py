"""The management API through ASGI: statuses, headers and bodies as recorded.

What clients that came by HTTP read, tests/recorded/ holds against the real host, exchange by exchange.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from devhost.durable import events
from devhost.durable.records import Entity, EntityId, Step
from tests.devhost.durable.running_engine import RunningEngine, running
from tests.devhost.durable.scenario_app import build_app
from tests.devhost.durable.scripted_functions import ScriptedEntities, entity_answer
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.engine_clocks import START

pytestmark = pytest.mark.behaviour("engine.management-api")
ORIGIN = "http://localhost:7071/runtime/webhooks/durabletask"
HUB = "taskHub=TestHubName&connection=Storage"
TEXT, JSON = {"Content-Type": "text/plain"}, {"Content-Type": "application/json"}


@pytest.fixture
async def engine() -> AsyncIterator[RunningEngine]:
    async with running(SdkFunctions(build_app())) as engine:
        yield engine


async def ended(engine: RunningEngine, name: str, instance_id: str, body: object = None) -> None:
    """Start an orchestration, and return when it has ended."""
    content = b"" if body is None else json.dumps(body).encode()
    reply = await engine.client.post(f"/orchestrators/{name}/{instance_id}", content=content)
    assert reply.status_code == 202
    await engine.store.until_ended(instance_id)


async def waiting(engine: RunningEngine) -> None:
    """Start an orchestration that waits for two events, and return when it does."""
    await engine.client.post("/orchestrators/two_events/w")
    await engine.until_event("w")


async def add(engine: RunningEngine, key: str, total: str, content: bytes = b"5") -> httpx.Response:
    """Signal a counter, and return when it has this state."""
    reply = await engine.client.post(f"/entities/Counter/{key}?op=add", content=content, headers=TEXT)
    await engine.state_is(EntityId("counter", key), total)
    return reply


async def test_a_start_answers_202_with_the_addresses_of_the_instance(engine: RunningEngine) -> None:
    """No rewind address, this order, the caller's origin; an id is escaped so that its address leads to it."""
    reply = await engine.client.post("/orchestrators/chain/%40a%23%20b", content=b'"x"')
    await engine.store.until_ended("@a# b")
    instance = f"{ORIGIN}/instances/%40a%23%20b"

    assert list(reply.json().items()) == [
        ("id", "@a# b"),
        ("statusQueryGetUri", f"{instance}?{HUB}"),
        ("sendEventPostUri", f"{instance}/raiseEvent/{{eventName}}?{HUB}"),
        ("terminatePostUri", f"{instance}/terminate?reason={{text}}&{HUB}"),
        ("purgeHistoryDeleteUri", f"{instance}?{HUB}"),
        ("restartPostUri", f"{instance}/restart?{HUB}"),
        ("suspendPostUri", f"{instance}/suspend?reason={{text}}&{HUB}"),
        ("resumePostUri", f"{instance}/resume?reason={{text}}&{HUB}"),
    ]
    assert (reply.status_code, reply.headers["Location"]) == (202, f"{instance}?{HUB}")
    assert (reply.headers["Retry-After"], reply.headers["Content-Type"]) == ("10", "application/json; charset=utf-8")
    assert (await engine.client.get("/instances/%40a%23%20b")).json()["instanceId"] == "@a# b"


@pytest.mark.behaviour("engine.id-reuse")
@pytest.mark.behaviour("engine.restart")
async def test_a_running_id_refuses_a_second_start_and_an_ended_one_takes_it_also_by_a_restart(
    engine: RunningEngine,
) -> None:
    """A restart runs the same input, under a new id or its own; the history begins anew."""
    await waiting(engine)
    reply = await engine.client.post("/orchestrators/chain/w")
    await engine.client.post("/instances/w/terminate")
    await engine.store.until_ended("w")
    await ended(engine, "child", "w", "5")
    new_id = (await engine.client.post("/instances/w/restart")).json()["id"]
    assert await engine.ended(new_id) == ("Completed", {"child": 5})
    histories = [(await engine.client.get(f"/instances/{name}?showHistory=True")).json() for name in (new_id, "w")]
    same = await engine.client.post(f"/instances/{new_id}/restart?restartWithNewInstanceId=false")
    assert await engine.ended(new_id) == ("Completed", {"child": 5})
    histories.append((await engine.client.get(f"/instances/{new_id}?showHistory=true")).json())

    assert (reply.status_code, same.status_code, same.json()["id"]) == (409, 202, new_id)
    assert reply.json()["Message"] == "An Orchestration instance with the status Running already exists."
    assert [history["historyEvents"][0]["Generation"] for history in histories] == [0, 1, 1]


JSON_IS_BAD = "Invalid JSON content"
NO_FUNCTION = "The function 'nobody' doesn't exist, is disabled, or is not"
REFUSED: list[tuple[str, bytes, int, str | None]] = [
    ("GET /instances/w?taskHub=testhubname", b"", 202, None),
    ("GET /instances/w?taskHub=other", b"", 404, None),
    ("GET /instances/nobody", b"", 404, None),
    ("POST /instances/nobody/terminate", b"", 404, None),
    ("POST /instances/nobody/raiseEvent/go", b"1", 404, None),
    ("DELETE /instances/nobody", b"", 404, None),
    ("GET /orchestrators/chain/x", b"", 404, None),
    ("POST /nothing", b"", 404, None),
    *(
        (f"POST /instances/done/{verb}", b"1", 410, None)
        for verb in ("raiseEvent/go", "terminate", "suspend", "resume")
    ),
    ("POST /orchestrators/chain/bad", b"{bad", 400, JSON_IS_BAD),
    ("POST /instances/w/raiseEvent/go", b"{bad", 400, JSON_IS_BAD),
    ("POST /instances/w/raiseEvent/go", b"", 400, JSON_IS_BAD),
    ("POST /entities/nobody/k?op=add", b"", 400, NO_FUNCTION),
    ("DELETE /entities/nobody/k", b"", 400, NO_FUNCTION),
    ("POST /entities/counter/a%23b?op=add", b"", 400, ""),
    ("POST /entities/counter/k?op=add", b"{bad", 400, "Could not parse JSON content: "),
    ("POST /entities/counter/a%2Fb?op=add", b"", 404, None),
    ("GET /entities/counter/nobody", b"", 404, None),
    ("POST /instances/nobody/restart", b"", 400, ""),
    ("POST /instances/w/restart?restartWithNewInstanceId=false", b"", 409, "A non-terminal instance with this"),
]


async def test_what_cannot_be_is_refused_with_the_recorded_status(engine: RunningEngine) -> None:
    """Unknown instances and paths are an empty 404, ended instances an empty 410; others say what is wrong.

    An event must say that it is JSON.
    """
    await ended(engine, "chain", "done")
    await waiting(engine)
    for line, body, status, message in REFUSED:
        reply = await engine.client.request(*line.split(), content=body, headers=JSON)
        assert reply.status_code == status, line
        assert message is not None or reply.content == b"" or status == 202, line
        assert message is None or reply.json()["Message"].startswith(message), line
    unnamed: list[dict[str, Any]] = [{"content": b"1", "headers": TEXT}, {}]
    refused = [await engine.client.post("/instances/w/raiseEvent/go", **given) for given in unnamed]

    only = {"Message": "Only application/json request content is supported"}
    assert [(reply.status_code, reply.json()) for reply in refused] == [(400, only)] * 2


@pytest.mark.behaviour("engine.suspended")
async def test_a_suspended_instance_shows_its_reason_and_goes_on_when_resumed(engine: RunningEngine) -> None:
    """Events are taken meanwhile, in their order; the end is held back. A second suspend is 500."""
    await waiting(engine)
    assert (await engine.client.post("/instances/w/suspend?reason=a%20pause")).status_code == 202
    assert (await engine.until_event("w", events.ExecutionSuspended)).value == "Suspended"
    assert (await engine.client.get("/instances/w")).json()["output"] == "a pause"
    twice = await engine.client.post("/instances/w/suspend")
    for value in ({"n": 1}, 2):
        reply = await engine.client.post("/instances/w/raiseEvent/go", json=value)
        assert (reply.status_code, reply.content) == (202, b"")
    assert (await engine.until_event("w", events.EventRaised, 2)).value == "Suspended"
    assert (await engine.client.post("/instances/w/resume")).status_code == 202

    assert await engine.ended("w") == ("Completed", [{"n": 1}, 2])
    assert twice.status_code == 500
    assert "w because instance is in the Suspended state" in twice.json()["ExceptionMessage"]


async def test_a_rewind_is_202_for_a_failed_instance_alone(engine: RunningEngine) -> None:
    """404 and 412 as recorded; the rewound one fails again, because its own code raises."""
    await ended(engine, "fails", "f")
    await waiting(engine)
    replies = [await engine.client.post(f"/instances/{name}/rewind") for name in ("nobody", "w", "f")]
    assert [reply.status_code for reply in replies] == [404, 412, 202]
    assert replies[0].json() == 'No orchestration with instance ID "$nobody" found.'
    assert replies[1].json().startswith("This orchestration has status Running, but only")
    assert (await engine.ended("f"))[0] == "Failed"


@pytest.mark.behaviour("engine.purge")
async def test_a_purge_forgets_what_has_ended_and_never_what_runs_or_entities(engine: RunningEngine) -> None:
    """The real host deletes everything when asked for Running; here only what has ended goes."""
    for name in ("c", "d"):
        await ended(engine, "chain", name)
    await waiting(engine)
    await add(engine, "k", "5")
    since, delete = "createdTimeFrom=2001-01-01T00:00:00Z", engine.client.delete

    assert (await delete("/instances/c")).json() == {"instancesDeleted": 1}
    assert (await engine.client.get("/instances/c")).status_code == 404
    refused = await delete("/instances/w")
    assert refused.status_code == 412
    assert refused.json().endswith("but the orchestration with instance ID w has status Running")
    assert (await delete("/instances")).status_code == 400
    assert (await delete(f"/instances?{since}&runtimeStatus=Running")).status_code == 404
    assert (await delete(f"/instances?{since}")).json() == {"instancesDeleted": 1}
    assert (await engine.client.get("/instances/w")).status_code == 202
    assert (await engine.client.get("/entities/counter/k")).status_code == 200


async def test_instances_and_entities_are_listed_together_in_pages(engine: RunningEngine) -> None:
    """The last page has no token for clients and an empty one for the app, as seen on the real host: who goes on while
    there is a token never ends, unless an empty one is none.
    """
    for name in ("b", "a"):
        await ended(engine, "chain", name)
    await add(engine, "K", "5")
    first = await engine.client.get("/instances?top=2")
    token = {"x-ms-continuation-token": first.headers["x-ms-continuation-token"]}
    second = await engine.client.get("/instances?top=2", headers=token)

    assert [[item["instanceId"] for item in page.json()] for page in (first, second)] == [["@counter@K", "a"], ["b"]]
    assert first.json()[0]["input"] == {"exists": True, "state": "5", "sorter": {}}
    assert (await engine.client.get("/instances?top=-1")).status_code == 500
    assert (await engine.client.get("/instances?top=0")).json() == []
    for mount, last in (("/runtime/webhooks/durabletask", None), ("/durabletask", "")):
        async with running(SdkFunctions(build_app()), mount=mount) as other:
            pages = [await other.client.get(path) for path in ("/instances", "/entities", "/entities/counter?top=1")]
        assert [page.headers.get("x-ms-continuation-token") for page in pages] == [last] * 3


async def test_a_start_that_waits_answers_the_output_or_else_the_addresses(engine: RunningEngine) -> None:
    """200 with the raw output, 200 with the status of a failure, 202 when the time is over."""
    done = await engine.client.post("/orchestrators/chain/c?timeout=60&pollingInterval=0.05")
    failed = await engine.client.post("/orchestrators/fails/f?timeout=60&pollingInterval=0.05")
    late = await engine.client.post("/orchestrators/two_events/w?timeout=0.1&pollingInterval=0.05")
    assert (done.status_code, done.json()) == (200, [1, ["a", {"p": 1}], None])
    assert (failed.status_code, failed.json()["runtimeStatus"]) == (200, "Failed")
    assert (late.status_code, late.json()["id"]) == (202, "w")


@pytest.mark.behaviour("engine.unheard-failures")
@pytest.mark.parametrize("body", [b"5", b'"x"'])
async def test_json_that_python_cannot_decode_twice_fails_its_operation_and_the_log_says_so(
    engine: RunningEngine, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """As on the real host, recorded for `5`: the JSON travels as it is, the SDK fails on it, the state stays null."""
    reply = await engine.client.post("/entities/counter/k?op=add", content=body, headers=JSON)
    await engine.state_is(EntityId("counter", "k"), "null")
    assert (reply.status_code, (await engine.client.get("/entities/counter/k")).text) == (202, "null")
    assert "@counter@k: the signal 'add' failed, and no caller sees it: " in caplog.text
    await ended(engine, "entities", "e")
    assert "'boom' failed, and no caller" not in caplog.text  # its caller saw that


async def test_a_deleted_entity_reads_null_and_a_purged_one_is_gone(engine: RunningEngine) -> None:
    """DELETE is a signal; the record stays, as on the real host."""
    await add(engine, "k", "5")
    assert (await engine.client.delete("/entities/counter/k")).status_code == 202
    await engine.state_is(EntityId("counter", "k"), "null")
    reply = await engine.client.get("/entities/counter/k")
    assert (reply.status_code, reply.json()) == (200, None)
    assert (await engine.client.delete("/instances/@counter@k")).json() == {"instancesDeleted": 1}
    assert (await engine.client.get("/entities/counter/k")).status_code == 404


async def test_entities_are_listed_with_their_state_on_request(engine: RunningEngine) -> None:
    for key in ("b", "a"):
        await add(engine, key, "1", b"1")
    page = await engine.client.get("/entities/Counter?fetchState=true&top=1")
    (entry,) = page.json()
    everything = (await engine.client.get("/entities")).json()

    assert list(entry) == ["entityId", "lastOperationTime", "state"]
    assert (entry["entityId"], entry["state"]) == ({"name": "counter", "key": "a"}, 1)
    assert "x-ms-continuation-token" in page.headers
    assert [(item["entityId"]["key"], item["state"]) for item in everything] == [("a", None), ("b", None)]
    assert (await engine.client.get("/entities/nobody")).json() == []
    for number in range(99):
        await engine.store.commit(Step(entity=Entity(EntityId("counter", f"c{number}"), True, "1", START)))
    full = await engine.client.get("/entities")
    assert (len(full.json()), bool(full.headers["x-ms-continuation-token"])) == (100, True)


async def test_an_entity_reads_as_compact_json_whatever_its_text() -> None:
    """Python's json writes spaces; the real host does not. One that does not exist has its text, and is not listed."""
    read = {
        "a": ('{"n": 1.0, "é":  [1, 2]}', True, '{"n":1.0,"é":[1,2]}'),
        "b": ("no JSON", True, "no JSON"),
        "c": ('{"left": 1}', False, '{"left":1}'),
    }

    async def keep(payload: dict[str, Any]) -> str:
        state, exists, _ = read[payload["batch"][0]["name"]]
        return json.dumps(json.loads(entity_answer(None)) | {"entityState": state, "entityExists": exists})

    async with running(ScriptedEntities(keep)) as engine:
        for key, (state, _, shown) in read.items():
            await engine.hub.signal(EntityId("counter", key), key, None)
            await engine.state_is(EntityId("counter", key), state)
            assert (await engine.client.get(f"/entities/counter/{key}")).text == shown
        assert len((await engine.client.get("/entities/counter")).json()) == 2
