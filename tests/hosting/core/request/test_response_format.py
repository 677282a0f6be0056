"""An answer in a wanted format: `response_format` over HTTP gives `value`, or a failed run."""

import json
from typing import Any

import pytest

from tests.support.carriers import Api

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


@pytest.mark.behaviour("http.value")
async def test_every_json_value_is_answered_as_it_is(direct: Api) -> None:
    """Also one that says nothing, and one that resembles a mark of the stored conversation."""
    values: list[Any] = [None, False, 0, "", [], {"$python": "bytes", "value": "aGk="}, {"a": None}]
    for value in values:
        answer = (await direct.ask(f"say {json.dumps(value)}", response_format={})).json()

        assert (value, type(answer["value"])) == (answer["value"], type(value))


@pytest.mark.behaviour("http.value")
async def test_without_a_format_there_is_no_value(direct: Api) -> None:
    for fields in ({}, {"response_format": {"type": "text"}}, {"response_format": None}):
        assert "value" not in (await direct.ask('say {"city": "Paris"}', **fields)).json()


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
