"""Pictures and files in a request: `contents` over HTTP."""

import base64
from types import SimpleNamespace
from typing import Any

import pytest

from hosting.app import AgentFunctionApp
from hosting.core.request.contents import contents_schema, limits_of, model_inputs, read_contents
from hosting.errors import ConfigurationError, UnsupportedContentError
from hosting.offline.model import OfflineChatClient
from hosting.settings import read_settings
from tests.hosting.core.request.bad_contents import PICTURE, picture
from tests.support.carriers import Api
from tests.support.cluster.cluster import EchoAgent

REFERENCE = {"$type": "uri", "uri": "https://example.com/a.png", "mediaType": "image/png"}
TEXT = {"$type": "text", "text": "and this?"}


@pytest.mark.behaviour("http.contents")
async def test_a_message_with_contents_reaches_the_model_as_one_message_text_first(direct: Api) -> None:
    """In their order and with their names, and the answer repeats the text of the request."""
    answer = (await direct.ask("see", contents=[picture(name="a b.png"), TEXT, REFERENCE])).json()

    assert answer["message"] == "see"
    assert answer["response"] == f"user text:see data:a b.png:{PICTURE} text:and this? uri:https://example.com/a.png"
    assert answer["message_count"] == 2


@pytest.mark.behaviour("http.contents-limits")
async def test_a_picture_of_the_largest_size_is_taken(direct: Api) -> None:
    """The limit is of the data URI, because that is what the conversation keeps."""
    head = "data:image/png;base64,"
    largest = head + base64.b64encode(b"\0" * ((262_144 - len(head)) // 4 * 3)).decode()

    answer = await direct.ask("look", contents=[picture(uri=largest)])

    assert (answer.status_code, len(largest) > 262_140) == (200, True)


@pytest.mark.behaviour("http.contents-limits")
async def test_a_reference_has_at_most_2048_characters(direct: Api) -> None:
    """One of that length is taken."""
    uris = [REFERENCE["uri"].ljust(length, "g") for length in (2048, 2049)]

    answers = [await direct.ask("see", contents=[{**REFERENCE, "uri": uri}]) for uri in uris]

    assert [answer.status_code for answer in answers] == [200, 400]


PDF = {"$type": "data", "uri": "data:application/pdf;base64,aGk="}
FILE = {"$type": "hostedFile", "fileId": "f-1"}


@pytest.mark.behaviour("http.model-inputs")
@pytest.mark.parametrize(
    ("agent", "setting", "names"),
    [
        (SimpleNamespace(), "image/*, audio/wav", ("image/*", "audio/wav")),
        (SimpleNamespace(client=SimpleNamespace(MODEL_INPUTS=("text",))), "image/*", ("text",)),
        (SimpleNamespace(client=SimpleNamespace(MODEL_INPUTS=())), "image/*", ()),
        (SimpleNamespace(MODEL_INPUTS=("hostedFile",), client=OfflineChatClient()), "image/*", ("hostedFile",)),
        (SimpleNamespace(client=OfflineChatClient()), "image/*", ("text",)),
    ],
)
def test_the_agent_goes_before_its_client_before_the_setting(agent: Any, setting: str, names: Any) -> None:
    """Whoever knows best; the offline model takes text only."""
    assert model_inputs(agent, setting).names == names


@pytest.mark.behaviour("http.model-inputs")
@pytest.mark.parametrize(
    ("setting", "content", "is_taken"),
    [
        ("application/pdf", PDF, True),
        ("application/*", PDF, True),
        ("*/*", PDF, True),
        ("image/*,hostedFile", FILE, True),
        ("text", PDF, False),
        ("image/*", PDF, False),
        ("*/*", FILE, False),
    ],
)
def test_what_is_not_declared_is_refused_before_the_run(setting: str, content: dict[str, str], is_taken: bool) -> None:
    """A client that cannot take it might drop it silently."""
    limits = limits_of(None, read_settings({"AGENT_MODEL_INPUTS": setting}))
    if is_taken:
        assert [item["$type"] for item in read_contents([content], limits)] == [content["$type"]]
        return

    with pytest.raises(UnsupportedContentError) as refused:
        read_contents([content], limits)

    assert "the model of this agent takes text" in refused.value.detail


@pytest.mark.behaviour("http.model-inputs")
def test_the_document_has_the_kinds_of_contents_that_the_model_takes() -> None:
    settings = [read_settings({"AGENT_MODEL_INPUTS": inputs}) for inputs in ("text", "hostedFile", "audio/*", "*/*")]
    schemas = [contents_schema(limits_of(None, each))["items"]["oneOf"] for each in settings]

    kinds = [[schema["properties"]["$type"]["const"] for schema in each] for each in schemas]
    assert kinds == [["text"], ["text", "hostedFile"], ["text", "data"], ["text", "data", "uri"]]


@pytest.mark.parametrize(("names", "wrong"), [("image/*", "image/*"), (["image/*", "pictures"], "pictures")])
def test_a_declaration_that_is_none_is_refused_at_start_up(names: Any, wrong: str) -> None:
    agent: Any = EchoAgent()
    agent.MODEL_INPUTS = names

    with pytest.raises(ConfigurationError) as refused:
        AgentFunctionApp(agents=[agent], environ={"AGENT_LOG": "memory"})

    assert refused.value.detail.startswith(f"MODEL_INPUTS of EchoAgent has {wrong!r}. List media types such as")


CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "array", "items": {"minimum": -90}}},
    "required": ["city"],
}
ANY = {"type": "object", "title": "An answer"}
NAMED = {"type": "json_schema", "json_schema": {"name": "x", "description": "An x.", "strict": False, "schema": ANY}}
NOT_STRICT = "The answer is not one strict JSON value, as response_format wants it."
WRAPPED = {"type": "json_schema", "json_schema": {"name": "city", "schema": CITY, "strict": True}}


@pytest.mark.behaviour("http.value")
async def test_an_answer_in_the_wanted_format_comes_with_its_value(direct: Api) -> None:
    """Parsed, beside the text as the model wrote it; the status route has the same."""
    wanted = [("response_format", CITY), ("responseFormat", WRAPPED), ("response_format", {"type": "json_object"})]
    for name, form in wanted:
        answer = await direct.ask('say {"city": "Paris",  "degrees": [21.5, 1e2]}', **{name: form})

        body = answer.json()
        assert (answer.status_code, body["value"]) == (200, {"city": "Paris", "degrees": [21.5, 100.0]})
        assert body["response"] == '{"city": "Paris",  "degrees": [21.5, 1e2]}'
        status = await direct.http.get(f"/api/agents/Joker/threads/{body['thread_id']}/runs/{body['run_id']}")
        assert status.json() == body


@pytest.mark.behaviour("http.format-reaches-the-model")
async def test_the_model_gets_the_format_in_one_form(direct: Api) -> None:
    """OpenAI's, whichever the caller used; `strict` is the caller's to ask for."""
    bare = {"type": "json_schema", "json_schema": {"name": "response", "schema": ANY}}
    for wanted, sent in ((ANY, bare), (NAMED, NAMED), ({"type": "json_object"}, {"type": "json_object"})):
        answer = await direct.ask("formatted", response_format=wanted)

        assert answer.json()["value"] == {"format": sent}


@pytest.mark.behaviour("http.format-is-recorded")
async def test_a_format_is_kept_with_the_request_and_its_value_with_the_answer(direct: Api) -> None:
    """As the document's schema says, so that other readers of the conversation see it."""
    thread = (await direct.ask('say {"city": "Paris"}', response_format=WRAPPED)).json()["thread_id"]

    request, answered = await direct.entries(thread)

    assert (request["responseType"], request["responseSchema"]) == ("json", CITY)
    assert answered["agentFramework"]["value"] == {"city": "Paris"}


@pytest.mark.behaviour("http.invalid-output")
@pytest.mark.parametrize(
    ("text", "wanted", "why"),
    [
        ("Paris, a secret", CITY, NOT_STRICT),
        ('{"city": NaN}', CITY, NOT_STRICT),
        ('{"a": 1, "a": 2}', CITY, NOT_STRICT),
        ("", CITY, NOT_STRICT),
        ('{"secret": 1}', CITY, "at $ the rule 'required' is broken."),
        ('{"city": "Paris", "degrees": [1, -91]}', CITY, "at $.degrees[1] the rule 'minimum' is broken."),
        ('{"secret": 1}', {"additionalProperties": {"type": "string"}}, "at $.* the rule 'type' is broken."),
        ('["secret"]', {"type": "json_object"}, "it is a JSON array and not an object."),
        ("1" * 401, {"multipleOf": 0.1}, "it has a number out of the range of its rule."),
    ],
)
async def test_an_answer_that_does_not_fit_is_a_failed_run_that_names_path_and_rule(
    direct: Api, text: str, wanted: dict[str, Any], why: str
) -> None:
    """A problem in our words that quotes nothing of the answer, recorded as failed and not sent to the model again."""
    answer = await direct.ask(f"say {text}", response_format=wanted)

    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (500, "invalid_output")
    assert problem["detail"].endswith(why)
    assert "secret" not in answer.text
    url = f"/api/agents/Joker/threads/{problem['thread_id']}/runs/{problem['run_id']}"
    assert (await direct.http.get(url)).json()["status"] == "failed"
    assert (await direct.ask("recall", thread_id=problem["thread_id"])).json()["response"] == "recall"


@pytest.mark.behaviour("http.patterns-take-linear-time")
async def test_a_pattern_that_would_take_for_ever_takes_no_time(direct: Api) -> None:
    """Python's own expressions would hold the process for years."""
    answer = await direct.ask(f'say "{"a" * 5000}!"', response_format={"pattern": "^(a+)+$"})

    assert answer.json()["detail"] == "The answer does not fit response_format: at $ the rule 'pattern' is broken."
