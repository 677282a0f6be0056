"""Workflows whose start takes one message: it is made of what a request sends."""

from collections.abc import AsyncIterator
from typing import Any, Never

import httpx
import pytest
from agent_framework import Executor, Message, Workflow, WorkflowBuilder, WorkflowContext, handler, workflow

from tests.support.made_app import app_of, served

TEXT = {"$type": "text", "text": "and this"}


class Reader(Executor):
    """Takes a message."""

    @handler
    async def read(self, message: Message, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(f"{type(message).__name__} of {message.role}: {message.text}")


class Listener(Reader):
    """Takes a text too."""

    @handler
    async def listen(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(f"text: {text}")


def reading() -> Workflow:
    return WorkflowBuilder(name="Reading", start_executor=Reader("reader")).build()


def listening() -> Workflow:
    """Return a workflow that takes a message or a text."""
    return WorkflowBuilder(name="Listening", start_executor=Listener("listener")).build()


@workflow(name="Noting")
async def noting(message: Message) -> str:
    return f"{type(message).__name__} of {message.role}: {message.text}"


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with served(app_of(workflows=[reading, listening, noting])) as (_, http):
        yield http


async def response(http: httpx.AsyncClient, name: str, **fields: Any) -> Any:
    answer = await http.post(f"/api/workflows/{name}/run", json={**fields, "thread_id": "t"})
    return answer.json().get("response", answer.text)


@pytest.mark.behaviour("workflows.input")
@pytest.mark.parametrize("name", ["Reading", "Noting"])
async def test_a_start_that_takes_a_message_gets_the_newest(http: httpx.AsyncClient, name: str) -> None:
    """Made of the text, also of one sent as the input, and of the contents; not those of the thread before."""
    assert await response(http, name, message="hello") == "Message of user: hello"
    assert await response(http, name, input="again") == "Message of user: again"
    assert await response(http, name, message="look", contents=[TEXT]) == "Message of user: look and this"
    listed = (await http.get("/api/workflows")).json()["workflows"]
    assert next(each for each in listed if each["name"] == name)["input_schema"] == {"type": "string"}
