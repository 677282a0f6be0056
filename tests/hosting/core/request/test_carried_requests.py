"""Requests that an orchestration, or another package, carries in its call of the entity."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from azure.durable_functions.models.utils.df_serialization import df_loads

from tests.hosting.core.request.bad_contents import PICTURE, picture
from tests.support.app.scripted import scripted_agent
from tests.support.bench import Bench
from tests.support.carriers import GUARD_SECONDS
from tests.support.obedient import obedient

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
def bench() -> Iterator[Bench]:
    """The entity of a scripted agent."""
    bench = Bench(scripted_agent("Joker"))
    yield bench
    bench.loop.close()


@pytest.mark.behaviour("http.carried-fields")
@pytest.mark.parametrize("name", ["response_format", "responseFormat"])
async def test_a_carried_request_may_ask_for_a_format_and_bring_contents(bench: Bench, name: str) -> None:
    answer = await bench.deliver({**PEERS, "message": "see", "contents": [picture()]}, signal=False)
    formatted = await bench.deliver(
        {"message": 'say {"a": 1}', "correlationId": "r-2", name: {"required": ["a"]}}, signal=False
    )

    assert answer["response"] == f"user text:see data:{PICTURE}"
    assert formatted["value"] == {"a": 1}
    assert [entry["responseType"] for entry in bench.entries()[::2]] == ["text", "json"]


@pytest.mark.behaviour("http.carried-answers-are-text")
async def test_nothing_that_a_model_answers_becomes_an_object_of_the_sdk(bench: Bench) -> None:
    """The answer is text within the result, so the SDK's decoder makes no class of a value with its keys."""
    built = {"__class__": "Popen", "__module__": "subprocess", "__data__": "{}"}
    order = {"message": f"say {json.dumps(built)}", "correlationId": "r-1", "response_format": {"type": "object"}}
    operation = {"name": "run", "input": json.dumps(json.dumps(order)), "isSignal": False, "id": "1"}
    payload = {"self": {"name": "dafx-joker", "key": "t"}, "exists": False, "state": None, "batch": [operation]}

    answered = json.loads(await bench.entity.handle(json.dumps(payload)))
    decoded = df_loads(answered["results"][0]["result"])

    assert json.loads(decoded)["value"] == built


@pytest.mark.behaviour("http.carried-fields")
async def test_a_carried_request_may_switch_tools_off(bench: Bench) -> None:
    fields = {"message": "tool thread_name", "enable_tool_calls": False}

    assert (await bench.deliver(fields, signal=False))["response"] == "echo: tool thread_name"


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
    bench: Bench, fields: dict[str, Any], says: str
) -> None:
    """Never left out in silence, and nothing is stored."""
    result = await bench.deliver({**PEERS, "message": "hi", **fields}, signal=False)

    assert says in result["refused"]
    assert bench.entries() == []


@pytest.mark.behaviour("http.bounded-parsing")
@pytest.mark.parametrize("signal", [True, False], ids=["signalled", "called"])
async def test_a_data_uri_of_slashes_at_the_entitys_door_is_refused_at_its_first_delivery(
    bench: Bench, signal: bool
) -> None:
    """A turn of another engine that took minutes would be delivered again at each start; nothing is stored."""
    content = {"$type": "data", "uri": f"data:{'/' * 16_000}"}

    refused = await asyncio.wait_for(
        bench.deliver({**PEERS, "message": "see", "contents": [content]}, signal=signal), GUARD_SECONDS
    )
    answered = await bench.deliver({**PEERS, "message": "hi"}, signal=False)

    assert "contents[0].uri must look like data:image/png;base64" in refused["refused"]
    assert answered["response"] == "echo: hi"


@pytest.mark.behaviour("options.doors")
async def test_a_call_that_is_delivered_again_after_a_deployment_with_other_bounds_finds_its_run() -> None:
    """It was accepted by those of before, and has the options it began with. A new call goes by the new bounds."""
    bench = Bench(obedient(), model_options={"temperature": (0, 2), "seed": (0, 9)})
    options = {"temperature": 1.5, "seed": 3, "top_p": 0.5}
    call = {"message": "hello", "correlationId": "r-1", "orchestrationId": "o-1", "options": options}

    first = await bench.deliver(call, signal=False, commit=False)
    bench.model_options = {"temperature": (0, 1)}
    bench.restart()
    again = await bench.deliver(call, signal=False)
    other = await bench.deliver({**call, "correlationId": "r-2"}, signal=False)
    bench.loop.close()

    assert json.loads(first["response"]) == {"temperature": 1.5, "seed": 3}
    assert (again["response"], again["ignored"]) == (first["response"], ["options.top_p"])
    assert other == {"refused": "The field 'options.temperature' is '1.5' and must be a number from 0 to 1."}
