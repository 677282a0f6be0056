"""The tools of the conformance scenarios as workflows that take values, ask a person, and answer with files."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Annotated, Any, Literal, Never

from agent_framework import (
    Content,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
)
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

RED_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
IMAGE = Content.from_data(base64.b64decode(RED_PIXEL), "image/png")
AUDIO = Content.from_data(base64.b64decode(SILENCE), "audio/wav")
TEXT_FILE = Content.from_data(b"This is an embedded resource content.", "text/plain")
JSON_FILE = Content.from_data(b'{"test":"data","value":123}', "application/json")


class Nothing(BaseModel):
    """The input of a tool without arguments."""


class Says(Executor):
    """Answers with the same contents each time, one after the other, with a pause (s) behind each."""

    def __init__(self, *contents: Content, pause: float = 0.0) -> None:
        super().__init__("says")
        self._contents, self._pause = contents, pause

    @handler
    async def say(self, nothing: Nothing, ctx: WorkflowContext[Never, Content]) -> None:
        for content in self._contents:
            await ctx.yield_output(content)
            await asyncio.sleep(self._pause)


class SaysAtOnce(Executor):
    """Answers with one message."""

    def __init__(self, *contents: Content) -> None:
        super().__init__("says")
        self._contents = contents

    @handler
    async def say(self, nothing: Nothing, ctx: WorkflowContext[Never, Message]) -> None:
        await ctx.yield_output(Message("assistant", list(self._contents)))


class Fails(Executor):
    """Raises."""

    @handler
    async def fail(self, nothing: Nothing, ctx: WorkflowContext[Never, str]) -> None:
        raise RuntimeError("This tool intentionally returns an error for testing")


class address(BaseModel):  # the scenario's own name of a part
    """An address."""

    street: str = ""
    city: str = ""


class Person(BaseModel):
    """Somebody with an address."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"$schema": "https://json-schema.org/draft/2020-12/schema"}
    )

    name: str = ""
    address: address


class Greets(Executor):
    """Takes a person."""

    @handler
    async def greet(self, person: Person, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(person.name)


class Asked(BaseModel):
    """What to ask for."""

    message: str


class User(BaseModel):
    """An answer of plain fields."""

    username: Annotated[str, Field(description="User's response")]
    email: Annotated[str, Field(description="User's email address")]


class AsksFor(Executor):
    """Asks a person for a user."""

    @handler
    async def ask(self, asked: Asked, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.request_info(asked.message, User)

    @response_handler
    async def answer(self, request: str, user: User, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(f"User response: {user.model_dump_json()}")


class Defaults(BaseModel):
    """Fields with defaults of every kind."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


class AsksDefaults(Executor):
    """Asks a person for them."""

    @handler
    async def ask(self, nothing: Nothing, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.request_info("Please check the fields.", Defaults)

    @response_handler
    async def answer(self, request: str, fields: Defaults, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(f"Elicitation completed: {fields.model_dump_json()}")


TITLES = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
LEGACY = {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]}
OPTIONS = Literal["option1", "option2", "option3"]


class Choices(BaseModel):
    """Every kind of choice."""

    untitledSingle: OPTIONS
    titledSingle: Annotated[str, WithJsonSchema({"type": "string", "oneOf": TITLES})]
    legacyEnum: Annotated[str, WithJsonSchema(LEGACY)]
    untitledMulti: list[OPTIONS]
    titledMulti: Annotated[list[str], WithJsonSchema({"type": "array", "items": {"anyOf": TITLES}})]


class AsksChoices(Executor):
    """Asks a person for them."""

    @handler
    async def ask(self, nothing: Nothing, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.request_info("Please choose.", Choices)

    @response_handler
    async def answer(self, request: str, choices: Choices, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(f"Elicitation completed: {choices.model_dump_json()}")


def flow(name: str, build: Callable[[], Any]) -> Callable[[], Workflow]:
    """Return what builds a workflow of one executor."""
    return lambda: WorkflowBuilder(name=name, description=f"{name}.", start_executor=build()).build()


def text(words: str) -> Content:
    """Return a content of words."""
    return Content.from_text(words)


PROGRESS = ("0 of 100", "50 of 100", "100 of 100")
FLOWS = [
    flow("test_simple_text", lambda: Says(text("This is a simple text response for testing."))),
    flow("test_image_content", lambda: Says(IMAGE)),
    flow("test_audio_content", lambda: Says(AUDIO)),
    flow("test_embedded_resource", lambda: Says(TEXT_FILE)),
    flow("test_multiple_content_types", lambda: SaysAtOnce(text("Multiple content types test:"), IMAGE, JSON_FILE)),
    flow("test_error_handling", lambda: Fails("fails")),
    flow("test_tool_with_progress", lambda: Says(*map(text, PROGRESS), pause=0.05)),
    flow("test_elicitation", lambda: AsksFor("asks")),
    flow("test_elicitation_sep1034_defaults", lambda: AsksDefaults("asks")),
    flow("test_elicitation_sep1330_enums", lambda: AsksChoices("asks")),
    flow("json_schema_2020_12_tool", lambda: Greets("greets")),
    flow("test_reconnection", lambda: Says(text("Reconnected."))),
]
