"""How long a caller waits, and what makes two requests the same."""

import json
from typing import Any

import pytest
from azure.durable_functions.models.utils.df_serialization import df_loads

from hosting.core.request.contents import limits_of
from hosting.core.thread.run_request import StartRun
from hosting.http.answer_form import answer_form
from hosting.http.run_call import RawRequest, RunCall, Wanted, parse_run
from hosting.ports import Wait
from hosting.settings import read_settings
from tests.hosting.core.request.bad_contents import PICTURE, picture
from tests.support.app.scripted import scripted_agent
from tests.support.cluster.cluster import AppProcess, Cluster
from tests.support.obedient import obedient


def parsed(headers: dict[str, str] | None = None, query: dict[str, str] | None = None, **fields: Any) -> RunCall:
    """Parse a JSON request of these fields."""
    body = json.dumps({"message": "hi", **fields}).encode()
    request = RawRequest({"content-type": "application/json", **(headers or {})}, query or {}, body)
    return parse_run(request, "Joker", limits_of(None, read_settings({})))


def call(headers: dict[str, str] | None = None, query: dict[str, str] | None = None, **fields: Any) -> StartRun:
    """Return the run that such a request starts."""
    return parsed(headers, query, **fields).start


SWITCHES = [
    *[(True, True), (False, False), (1, True), (0, False), ("yes", True), ("NO", False), (" True ", True)],
    *[("0", False), ("y", True), ("On", True), ("n", False), ("off", False), (None, True)],
]


@pytest.mark.parametrize(("value", "is_on"), SWITCHES)
def test_a_wait_and_the_switch_of_tools_are_written_in_many_ways(value: Any, is_on: bool) -> None:
    """As Microsoft's package takes them; an approval's `approved` is true or false and nothing else."""
    assert call(wait_for_response=value).wait.answer is is_on
    assert call(waitForResponse=value).wait.answer is is_on
    assert call(enable_tool_calls=value).request.enable_tool_calls is is_on


def test_the_header_wins_over_the_query_over_the_body_over_prefer() -> None:
    prefer, query = {"prefer": "respond-async"}, {"waitForResponse": "no"}
    header = {**prefer, "x-ms-wait-for-response": "yes"}

    assert call(prefer).wait.answer is False
    assert call(prefer, wait_for_response=True).wait.answer is True
    assert call(prefer, wait_for_response=None).wait.answer is False
    assert call(prefer, query, wait_for_response=True).wait.answer is False
    assert call(header, query, wait_for_response=False).wait.answer is True


@pytest.mark.behaviour("hosting.moves-over")
@pytest.mark.parametrize(
    ("message", "text"), [(42, "42"), (True, "true"), ({"a": ["ä"]}, '{"a": ["ä"]}'), ("hi", "hi")]
)
def test_a_message_may_be_any_value_by_setting(message: Any, text: str) -> None:
    """The agent gets it as its JSON; a string stays itself."""
    limits = limits_of(None, read_settings({"AGENT_MESSAGE_TYPES": "any"}))
    body = json.dumps({"message": message}).encode()

    read = parse_run(RawRequest({"content-type": "application/json"}, {}, body), "Joker", limits)

    assert read.start.request.message == text


@pytest.mark.behaviour("http.busy")
def test_the_query_says_what_becomes_of_a_request_before_the_body_and_the_agent_do() -> None:
    """`null` is as good as none, and the policy makes no other request: its fingerprint is the same."""
    assert [call().busy, call(busy=None).busy, call(busy="reject").busy] == ["queue", "queue", "reject"]
    assert call(query={"busy": "queue"}, busy="reject").busy == "queue"
    assert call(busy="reject").request == call().request
    agents = parse_run(RawRequest({}, {}, b"hi"), "Joker", limits_of(None, read_settings({})), busy="reject")
    assert agents.start.busy == "reject"


@pytest.mark.parametrize(
    ("prefer", "seconds", "answer", "applied"),
    [
        ("", None, True, None),
        ("respond-async", None, False, "respond-async"),
        ('Wait = "10"', 10.0, True, "wait=10"),
        ("respond-async, wait=10", 10.0, True, "respond-async, wait=10"),
        ("wait=0;x=1, respond-async;y", 0.0, True, "wait=0, respond-async"),
        ("wait=99999999999999999999", 999999999.0, True, "wait=999999999"),
    ],
)
def test_prefer_is_read_as_rfc_7240_says(prefer: str, seconds: float | None, answer: bool, applied: str | None) -> None:
    """Unknown preferences are left alone, parameters too."""
    wanted, headers = parsed({"prefer": prefer}).wanted, {} if applied is None else {"Preference-Applied": applied}

    assert wanted == Wanted("json", Wait(seconds, answer), headers)


@pytest.mark.behaviour("http.json-without-its-type")
@pytest.mark.parametrize(
    "text", ["{}", '{"name": "Ada"}', '{"role": "user", "name": "Ada"}', '{"message": ', '["message"]', "{message}"]
)
def test_a_text_that_is_no_request_of_ours_is_the_message(text: str) -> None:
    """JSON may be what the agent is to read: only an object with our fields is taken for a slip."""
    read = parse_run(RawRequest({}, {}, text.encode()), "Joker", limits_of(None, read_settings({})))

    assert read.start.request.message == text


def fingerprint(start: StartRun, agent: str = "Joker") -> str:
    """Return the digest by which a repeated request of an agent is known."""
    return start.request.fingerprint(agent, start.thread_id)


def test_a_fingerprint_is_of_the_request_and_its_thread() -> None:
    """Not of whether the answer is waited for; another agent, thread, message or switch is another request."""
    plain = fingerprint(call())

    assert fingerprint(call({"accept": "text/plain", "prefer": "wait=1"}, wait_for_response=False)) == plain
    schemas = [{"minimum": 1}, {"minimum": True}, {"minimum": 1.0}]
    others = [
        call(thread_id="t"),
        call(message="ho"),
        call(enable_tool_calls=False),
        call(contents=[{"$type": "text", "text": "ho"}]),
        call(response_format={"type": "json_object"}),
        *(call(response_format={"const": schema}) for schema in schemas),
    ]
    assert len({plain, fingerprint(call(), "other"), *map(fingerprint, others)}) == 10


@pytest.mark.parametrize(
    ("accept", "sent", "form"),
    [
        ("", "json", "json"),
        ("", "text", "text"),
        ("application/json", "text", "json"),
        ("text/plain", "json", "text"),
        ("application/*;q=0.2, text/plain;q=0.1", "text", "json"),
        ("text/event-stream", "json", "events"),
        ("text/event-stream, application/json;q=0.5", "text", "events"),
        ("text/event-stream;q=0.4, application/json;q=0.5", "text", "json"),
        ("*/*", "events", "events"),
        ("application/json;q=high, text/plain;q=0.1", "json", "text"),
        ("application/json; q=0.5 , text/plain;q = 0.4", "text", "json"),
    ],
)
def test_accept_decides_the_form(accept: str, sent: Any, form: str) -> None:
    """q-values count; ties and no preference are as the request was."""
    assert answer_form(accept, sent) == form


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
    return Cluster(lambda: scripted_agent("Joker")).process()


@pytest.mark.moved_time
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


@pytest.mark.moved_time
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


@pytest.mark.moved_time
@pytest.mark.behaviour("http.carried-fields")
async def test_a_carried_request_may_switch_tools_off(app: AppProcess) -> None:
    fields = {"message": "tool thread_name", "enable_tool_calls": False}

    assert (await app.operate(fields, is_signal=False))["response"] == "echo: tool thread_name"


@pytest.mark.moved_time
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


@pytest.mark.moved_time
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
