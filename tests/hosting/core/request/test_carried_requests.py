"""Requests that an orchestration, or another package, carries in its call of the entity."""

import asyncio
import json
from typing import Any

import pytest
from azure.durable_functions.models.utils.df_serialization import df_loads

from tests.hosting.core.request.bad_contents import PICTURE, picture
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.cluster.cluster import AppProcess, Cluster
from tests.support.obedient import obedient

pytestmark = pytest.mark.moved_time

PEERS = {
    "role": "user",
    "enable_tool_calls": True,
    "wait_for_response": True,
    "request_response_format": "text",
    "correlationId": "r-1",
    "options": {},
    "created_at": "2026-01-02T03:04:05+00:00",
    "orchestrationId": "o-1",
}


@pytest.fixture
async def app() -> AppProcess:
    """A process of a scripted agent."""
    return Cluster(lambda: scripted_agent("Joker")).process()


@pytest.mark.behaviour("http.carried-fields")
@pytest.mark.parametrize("name", ["response_format", "responseFormat"])
async def test_a_carried_request_may_ask_for_a_format_and_bring_contents(app: AppProcess, name: str) -> None:
    answer = await app.operate({**PEERS, "message": "see", "contents": [picture()]}, is_signal=False)
    formatted = await app.operate(
        {"message": 'say {"a": 1}', "correlationId": "r-2", name: {"required": ["a"]}}, is_signal=False
    )

    assert answer["response"] == f"user text:see data:{PICTURE}"
    assert formatted["value"] == {"a": 1}
    assert [entry["responseType"] for entry in app.entries()[::2]] == ["text", "json"]


@pytest.mark.behaviour("http.carried-answers-are-text")
async def test_nothing_that_a_model_answers_becomes_an_object_of_the_sdk(app: AppProcess) -> None:
    """The answer is text within the result, so the SDK's decoder makes no class of a value with its keys."""
    built = {"__class__": "Popen", "__module__": "subprocess", "__data__": "{}"}
    order = {"message": f"say {json.dumps(built)}", "correlationId": "r-1", "response_format": {"type": "object"}}
    operation = {"name": "run", "input": json.dumps(json.dumps(order)), "isSignal": False, "id": "1"}
    payload = {"self": {"name": "dafx-joker", "key": "t"}, "exists": False, "state": None, "batch": [operation]}

    answered = json.loads(await app.entity.handle(json.dumps(payload)))
    decoded = df_loads(answered["results"][0]["result"])

    assert json.loads(decoded)["value"] == built


@pytest.mark.behaviour("http.carried-fields")
async def test_a_carried_request_may_switch_tools_off(app: AppProcess) -> None:
    fields = {"message": "tool thread_name", "enable_tool_calls": False}

    assert (await app.operate(fields, is_signal=False))["response"] == "echo: tool thread_name"


@pytest.mark.behaviour("http.carried-fields")
@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            {"options": {"tool_choice": "required"}},
            "The field 'options.tool_choice' is 'required', and the agent's author",
        ),
        ({"options": ["temperature"]}, "Send an object of options."),
        ({"role": "system"}, "The role 'system' is not allowed here."),
        ({"response_format": {"__response_schema_type__": "pydantic_model", "module": "os"}}, "names a Python class"),
        ({"response_format": {"minimum": float("inf")}}, "holds a number that is out of range"),
        ({"response_format": {"title": "\ud800"}}, "half of a surrogate pair"),
        ({"contents": [{"$type": "text", "text": "\ud800"}]}, "half of a surrogate pair"),
        ({"contents": [{"$type": "functionCall"}]}, "contents[0].$type is 'functionCall'"),
    ],
)
async def test_what_is_not_served_is_refused_by_a_sentence_and_runs_nothing(
    app: AppProcess, fields: dict[str, Any], says: str
) -> None:
    """Never left out in silence, and nothing is stored."""
    result = await app.operate({**PEERS, "message": "hi", **fields}, is_signal=False)

    assert says in result["refused"]
    assert app.entries() == []


@pytest.mark.behaviour("http.bounded-parsing")
@pytest.mark.parametrize("signal", [True, False], ids=["signalled", "called"])
async def test_a_data_uri_of_slashes_at_the_entitys_door_is_refused_at_its_first_delivery(
    app: AppProcess, signal: bool
) -> None:
    """A turn of another engine that took minutes would be delivered again at each start; nothing is stored."""
    content = {"$type": "data", "uri": f"data:{'/' * 16_000}"}

    refused = await asyncio.wait_for(
        app.operate({**PEERS, "message": "see", "contents": [content]}, is_signal=signal), GUARD_SECONDS
    )
    answered = await app.operate({**PEERS, "message": "hi"}, is_signal=False)

    assert "contents[0].uri must look like data:image/png;base64" in refused["refused"]
    assert answered["response"] == "echo: hi"


@pytest.mark.behaviour("options.doors")
async def test_a_call_that_is_delivered_again_after_a_deployment_with_other_bounds_finds_its_run() -> None:
    """It was accepted by those of before, and has the options it began with. A new call goes by the new bounds."""
    cluster = Cluster(obedient, registered={"options": {"temperature": (0, 2), "seed": (0, 9)}})
    options = {"temperature": 1.5, "seed": 3, "top_p": 0.5}
    call = {"message": "hello", "correlationId": "r-1", "orchestrationId": "o-1", "options": options}

    first = await cluster.process().operate(call, is_signal=False, commit=False)
    cluster.registered = {"options": {"temperature": (0, 1)}}
    deployed = cluster.process()
    again = await deployed.operate(call, is_signal=False)
    other = await deployed.operate({**call, "correlationId": "r-2"}, is_signal=False)

    assert json.loads(first["response"]) == {"temperature": 1.5, "seed": 3}
    assert (again["response"], again["ignored"]) == (first["response"], ["options.top_p"])
    assert other == {"refused": "The field 'options.temperature' is '1.5' and must be a number from 0 to 1."}
