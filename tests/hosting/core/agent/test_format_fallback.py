"""A model server that takes no schema as a format, as llama.cpp's older ones: what it is asked, and how often."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import openai
import pytest
from agent_framework import Agent, ChatResponse, Message
from agent_framework.exceptions import ChatClientException

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentRunner
from hosting.core.agent.format_fallback import refusal_of_schemas
from hosting.core.thread.run_request import ResponseFormat, RunRequest
from hosting.names import new_id
from tests.hosting.core.agent.attempts import attempt
from tests.support.answering import AnsweringClient, calls, says
from tests.support.killed_runs import AFTER_A_TOOL, counting, killed_and_finished

pytestmark = pytest.mark.behaviour("http.format-refused")

SCHEMA = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
OF_LLAMA_CPP = 'response_format type must be one of "text" or "json_object", but got: json_schema'

OF_ITS_PYTHON = (
    "1 validation error: {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': "
    "\"Input should be 'text' or 'json_object'\", 'input': 'json_schema'} "
    'File "llama_cpp/server/app.py", in create_chat_completion'
)
"""What llama-cpp-python 0.3 answers with status 500."""


def refusal(message: str, status: int = 400) -> ChatClientException:
    """Return what agent-framework's client for OpenAI raises for such an answer of a server."""
    body = {"error": {"code": status, "message": message, "type": "invalid_request_error"}}
    answered: Any = httpx.Response(
        status, json=body, request=httpx.Request("POST", "http://127.0.0.1/v1/chat/completions")
    )
    cause = openai.APIStatusError(f"Error code: {status} - {body}", response=answered, body=body["error"])
    error = ChatClientException("service failed to complete the prompt", inner_exception=cause)
    error.__cause__ = cause
    return error


class LlamaClient(AnsweringClient):
    """Refuses `json_schema`; else says its texts one after the other; `look` is a call of that tool."""

    said: Sequence[str] = ('{"town": "Ulm"}',)
    says_of_schemas: str = OF_LLAMA_CPP
    refuses_with: int = 400
    asked: list[Mapping[str, Any]]
    note: Any = None

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        self.asked.append(options)
        if (options.get("response_format") or {}).get("type") == "json_schema":
            raise refusal(self.says_of_schemas, self.refuses_with)
        number = sum(message.role == "assistant" for message in messages)
        if self.note is not None:
            self.note(f"model {number + 1}")
        return says(calls("look") if self.said[number] == "look" else self.said[number])


def llama(*said: str, says_of_schemas: str = OF_LLAMA_CPP, **options: Any) -> tuple[Agent[Any], LlamaClient]:
    """Return an agent over such a server, and the server."""
    client = LlamaClient()
    client.asked, client.said, client.says_of_schemas = [], said or LlamaClient.said, says_of_schemas
    return Agent(client, "Be brief.", name="Joker", **options), client


def request_of(schema: dict[str, Any]) -> RunRequest:
    """Return a request for a value of the schema."""
    return RunRequest(message="where?", response_format=ResponseFormat(json_schema=schema))


async def value_of(runner: AgentRunner, schema: dict[str, Any] = SCHEMA) -> Any:
    """Return the value that one attempt answers with."""
    outcome = await runner.run(attempt(request=request_of(schema), run_id=new_id()), 5.0)
    assert isinstance(outcome, AgentAnswer), outcome
    return outcome.response.value


async def test_the_schema_goes_into_the_instructions_and_the_answer_is_checked(loop: AgentLoop) -> None:
    """The refused request costs no model call; the next run sends none that would be refused."""
    agent, server = llama()
    runner = AgentRunner(agent, "Joker", loop)

    values = [await value_of(runner) for _ in range(2)]

    assert values == [{"town": "Ulm"}] * 2
    assert [one["response_format"]["type"] for one in server.asked] == ["json_schema", "json_object", "json_object"]
    assert server.asked[1]["instructions"].startswith("Be brief.\n\nAnswer with one JSON value")
    assert json.loads(server.asked[1]["instructions"].splitlines()[-1]) == SCHEMA
    assert server.asked[0]["instructions"] == "Be brief."


async def test_llama_cpps_python_server_gets_the_schema_beside_json_object(loop: AgentLoop) -> None:
    """It answers 500, and holds its model to a schema there, to that of an array too."""
    schema = {"type": "array", "items": {"type": "integer"}}
    agent, server = llama("[1]", says_of_schemas=OF_ITS_PYTHON)
    server.refuses_with = 500

    assert await value_of(AgentRunner(agent, "Joker", loop), schema) == [1]
    assert server.asked[1]["response_format"] == {"type": "json_object", "schema": schema}


@pytest.mark.parametrize(
    ("message", "status", "is_refusal"),
    [
        (OF_LLAMA_CPP, 400, True),
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", 400, True),
        ("['body', 'response_format', 'type']: Input should be 'text' or 'json_object'", 422, True),
        ("Invalid schema for response_format 'place': json_schema needs additionalProperties", 400, False),
        (OF_LLAMA_CPP, 500, False),
        (OF_ITS_PYTHON, 500, True),
        (OF_ITS_PYTHON.replace("llama_cpp", "another"), 500, False),
    ],
)
def test_only_a_server_that_knows_no_schemas_is_asked_again(message: str, status: int, is_refusal: bool) -> None:
    """A schema that the server finds wrong is the caller's matter, and other errors are others'."""
    assert (refusal_of_schemas(refusal(message, status)) is not None) is is_refusal


def look() -> str:
    """Look."""
    return "seen"


async def test_a_replay_after_a_kill_makes_the_same_choice() -> None:
    """What the first attempt got by the fallback is recorded, and the second one continues behind it."""
    counted, note = counting()
    agent, server = llama("look", '{"town": "Ulm"}', tools=[look])
    server.note = note

    ended = await killed_and_finished(agent, counted, request=request_of(SCHEMA), appends=AFTER_A_TOOL, streamed=True)

    assert ended.terminal["kind"] == "completed"
    assert ended.done_after == {"model 2": 1}
    types = [one["response_format"]["type"] for one in server.asked]
    assert types == ["json_schema", "json_object", "json_schema", "json_object"]
