"""What a model call of a run was sent and what came back, read over HTTP and compared with what the model got."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    Workflow,
    WorkflowBuilder,
    tool,
)

from hosting.app import AgentFunctionApp
from hosting.http.model_call import LONGEST_TEXT
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost

pytestmark = pytest.mark.behaviour("http.model-call")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SECRET = "a secret of the tool"


class _Script(BaseChatClient[Any]):
    """Answers with the next of these contents, and keeps what it was sent."""

    answers: list[Sequence[Content | str]]
    sent: list[list[Message]]

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        self.sent.append(list(messages))
        contents = self.answers.pop(0)
        return self._build_response_stream(self._streamed(contents)) if stream else self._whole(contents)

    async def _whole(self, contents: Sequence[Content | str]) -> ChatResponse[Any]:
        return ChatResponse(messages=Message("assistant", contents))

    async def _streamed(self, contents: Sequence[Content | str]) -> AsyncIterator[ChatResponseUpdate]:
        for content in contents:
            yield ChatResponseUpdate(
                role="assistant", contents=[content if isinstance(content, Content) else Content.from_text(content)]
            )


class Script(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], _Script):
    """The same with what agents need of a client."""


def scripted(*answers: Sequence[Content | str]) -> Script:
    client = Script()
    client.answers, client.sent = list(answers), []
    return client


def call(name: str, number: str = "1", **arguments: Any) -> Content:
    return Content.from_function_call(f"{name}-{number}", name, arguments=arguments)


@tool
def look(n: str) -> str:
    """Look it up."""
    return f"saw {n}"


@tool
def fail() -> str:
    """Raise."""
    raise ValueError(SECRET)


@tool(approval_mode="always_require")
def refund(n: str) -> str:
    """Refund it."""
    return f"refunded {n}"


class Served:
    """An app of these agents and workflows, asked over HTTP."""

    def __init__(self, http: httpx.AsyncClient, runs: str) -> None:
        self.http, self.runs = http, runs

    async def say(self, message: str, accept: str = "*/*", **body: Any) -> str:
        """Have it answer on the thread, and return the run's id."""
        url = self.runs.replace("/threads/t/runs", "/run")
        sent = {"message": message, "thread_id": "t", **body}
        answer = await self.http.post(url, json=sent, headers={"accept": accept})
        assert answer.status_code == 200, answer.text
        return answer.headers["x-ms-run-id"]

    async def step(self, run_id: str, call_id: str) -> dict[str, Any]:
        answer = await self.http.get(f"{self.runs}/{run_id}/step", params={"id": call_id})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def calls(self, run_id: str) -> list[str]:
        """Return the ids of the model calls in the timeline."""
        steps = (await self.http.get(f"{self.runs}/{run_id}/timeline")).json()["steps"]
        return [step["id"] for step in steps if step["kind"] == "model_call"]


@asynccontextmanager
async def served(*agents: Agent[Any], workflow: Callable[[], Workflow] | None = None) -> AsyncIterator[Served]:
    app = AgentFunctionApp(agents=agents, workflows=[workflow] if workflow else [], environ={"AGENT_LOG": "memory"})
    path = f"workflows/{workflow().name}" if workflow else f"agents/{agents[0].name}"
    transport = httpx.ASGITransport(DirectHost(app).asgi)
    async with httpx.AsyncClient(transport=transport, base_url="http://app.example", timeout=GUARD_SECONDS) as http:
        yield Served(http, f"/api/{path}/threads/t/runs")


def told(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return messages of an answer as roles and texts."""
    return [(message["role"], [content["text"] for content in message["contents"]]) for message in messages]


def got(messages: Sequence[Message]) -> list[tuple[str, list[str]]]:
    """Return the messages that a model got in the same form."""
    return [(str(message.role), list(map(text_of, message.contents))) for message in messages]


def text_of(content: Content) -> str:
    """Return the text of a content, or a tool call's arguments as JSON."""
    return content.text or content.result or json.dumps(content.arguments)


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_a_model_call_has_what_the_model_got_and_what_it_answered(accept: str) -> None:
    """Its request, its earlier answers and the results of its tools, in the order in which the model got them."""
    first: list[Content | str] = ["One moment.", call("look", n="1"), call("fail"), call("look", "2", wrong="2")]
    client = scripted(first, [call("look", "3", n="3")], ["Done."])
    async with served(Agent(client, name="Reader", tools=[look, fail])) as app:
        run_id = await app.say("Look at both.", accept)
        steps = [await app.step(run_id, each) for each in await app.calls(run_id)]

    results = ["saw 1", "Error: Function failed.", "Error: Argument parsing failed."]
    assert [step["id"] for step in steps] == ["1", "2", "3"]
    assert [told(step["sent"]["messages"]) for step in steps] == list(map(got, client.sent))
    assert told(steps[1]["sent"]["messages"])[2] == ("tool", results)
    assert [step["sent"]["kept"] for step in steps] == ["whole", "whole", "unchecked"]
    assert steps[0]["received"] == steps[1]["sent"]["messages"][1:2]
    assert steps[2]["received"] == [{"role": "assistant", "contents": [{"type": "text", "text": "Done."}]}]
    assert steps[1]["received"][0]["contents"] == [
        {"type": "tool_call", "name": "look", "call_id": "look-3", "text": '{"n": "3"}'}
    ]
    assert SECRET not in str(steps)


async def test_a_call_after_an_approval_has_the_results_of_the_calls_that_were_decided_on() -> None:
    client = scripted([call("refund", n="1"), call("look", n="1")], [call("look", "2", n="2")], ["Done."])
    async with served(Agent(client, name="Reader", tools=[look, refund])) as app:
        asked = await app.say("Refund it.")
        status = (await app.http.get(f"{app.runs}/{asked}")).json()
        (pending,) = status["pending_approvals"]
        path = app.runs.replace("/runs", f"/approvals/{pending['id']}")
        run_id = (await app.http.post(path, json={"approved": True})).json()["run_id"]
        steps = [await app.step(run_id, each) for each in ("1", "2")]
        before = await app.step(asked, "1")

    assert told(steps[0]["sent"]["messages"]) == got(client.sent[1][-1:])
    assert [step["sent"]["kept"] for step in steps] == ["whole", "unchecked"]
    assert told(steps[1]["sent"]["messages"]) == got(client.sent[2][-3:])
    assert [content["type"] for content in before["received"][0]["contents"]] == ["tool_call", "tool_call"]


async def test_an_agent_that_is_a_tool_was_sent_the_argument_of_its_call() -> None:
    """It has nothing of the thread or of the agent that called it, which has none of its messages either."""
    asked = scripted([call("look", n="1")], [call("look", "2", n="2")], ["Found."])
    inner = Agent(asked, name="Inner", description="Finds.", tools=[look])
    asking = scripted([call("Inner", task="Find it.")], [call("look", n="3")], ["Done."])
    async with served(Agent(asking, name="Reader", tools=[inner.as_tool(), look])) as app:
        run_id = await app.say("Hello.")
        ids = await app.calls(run_id)
        first, second, outer = [await app.step(run_id, each) for each in ids[1:4]]

    assert ids == ["1", "1.Inner-1/1", "1.Inner-1/2", "2", "3"]
    assert first["sent"] == {
        "kept": "whole",
        "messages": [{"role": "user", "contents": [{"type": "text", "text": "Find it."}]}],
        "earlier_url": None,
    }
    assert [told(step["sent"]["messages"]) for step in (second, outer)] == [got(asked.sent[1]), got(asking.sent[1])]
    assert [second["sent"]["kept"], outer["sent"]["kept"]] == ["whole", "whole"]
    assert first["received"][0]["contents"][0]["name"] == "look"


async def test_of_an_agent_in_a_workflow_the_input_is_said_to_be_missing() -> None:
    client = scripted([call("look", n="1")], ["Found."])

    def flow() -> Workflow:
        return WorkflowBuilder(name="Flow", start_executor=Agent(client, name="Inner", tools=[look])).build()

    async with served(workflow=flow) as app:
        run_id = await app.say("Hello.")
        first, second, end = [await app.step(run_id, each) for each in await app.calls(run_id)]

    assert (first["sent"]["kept"], first["sent"]["messages"]) == ("partly", [])
    assert (second["sent"]["kept"], told(second["sent"]["messages"])) == ("partly", got(client.sent[1][1:]))
    assert told(second["received"]) == told(end["received"]) == [("assistant", ["Found."])]
    assert [step["sent"]["earlier_url"] for step in (first, second)] == [None, None]


async def test_a_large_content_is_cut_and_its_size_said() -> None:
    """Of a picture, sent or given by a tool, there is only the size."""

    @tool
    def draw() -> list[Content]:
        """Draw it."""
        return [Content.from_text("Here."), Content.from_uri(f"data:image/png;base64,{PIXEL}", media_type="image/png")]

    client = scripted([call("draw"), call("look", n="x" * LONGEST_TEXT)], ["y" * (LONGEST_TEXT + 1)])
    async with served(Agent(client, name="Reader", tools=[draw, look])) as app:
        picture = {"$type": "data", "uri": f"data:image/png;base64,{PIXEL}"}
        run_id = await app.say("z" * LONGEST_TEXT, contents=[picture])
        first, second = [await app.step(run_id, each) for each in ("1", "2")]

    size = {"type": "data", "media_type": "image/png", "bytes": 70}
    assert first["sent"]["kept"] == "whole"
    assert first["sent"]["messages"][0]["contents"] == [{"type": "text", "text": "z" * LONGEST_TEXT}, size]
    asked, result = first["received"][0]["contents"][1], second["sent"]["messages"][2]["contents"]
    assert (len(asked["text"]), asked["characters"]) == (LONGEST_TEXT, LONGEST_TEXT + len('{"n": ""}'))
    assert [result[1], result[2]["characters"]] == [size, LONGEST_TEXT + len("saw ")]
    assert second["received"][0]["contents"][0]["characters"] == LONGEST_TEXT + 1


async def test_a_run_under_way_has_its_calls_so_far() -> None:
    """The one that asked for the tool that is at work; the thread's messages until now come before it."""
    begun, goes_on = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        begun.set()
        await goes_on.wait()
        return "waited"

    client = scripted(["First."], [call("wait")], ["Done."])
    async with served(Agent(client, name="Reader", tools=[wait])) as app:
        await app.say("One.")
        url = app.runs.replace("/threads/t/runs", "/run")
        started = await app.http.post(
            url, json={"message": "Two.", "thread_id": "t"}, headers={"Prefer": "respond-async"}
        )
        await asyncio.wait_for(begun.wait(), GUARD_SECONDS)
        run_id = started.json()["run_id"]
        opened = await app.step(run_id, "1")
        last = await app.http.get(f"{app.runs}/{run_id}/step", params={"id": "2"})
        goes_on.set()

    assert (opened["sent"]["kept"], told(opened["sent"]["messages"])) == ("whole", [("user", ["Two."])])
    assert opened["sent"]["earlier_url"].endswith("/messages?before=3")
    assert (last.status_code, last.json()["code"]) == (404, "unknown_model_call")


@pytest.mark.parametrize("query", ["", "?id=1.look-1", f"?id={'9' * 4000}"])
async def test_what_is_no_model_call_of_the_run_is_not_found(query: str) -> None:
    """A tool call is none, and neither is what the run does not have."""
    async with served(Agent(scripted([call("look", n="1")], ["Done."]), name="Reader", tools=[look])) as app:
        run_id = await app.say("Look.")
        answer = await app.http.get(f"{app.runs}/{run_id}/step{query}")

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_model_call")
    assert len(answer.json()["detail"]) < 300
