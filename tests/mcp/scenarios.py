"""What the conformance scenarios ask a server to have, declared as a user declares it on the template's app."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import azure.functions as func
from azure.functions.decorators.mcp import PromptArgument

scenarios = func.Blueprint()

RED_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
IMAGE = {"type": "image", "data": RED_PIXEL, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}
SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


def text(content: str) -> dict[str, object]:
    """Return a text block."""
    return {"type": "text", "text": content}


def embedded(uri: str, mime_type: str, content: str) -> dict[str, object]:
    """Return a block with a resource in it."""
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": content}}


def one(block: dict[str, object]) -> str:
    """Return the envelope of one block."""
    return json.dumps({"type": block["type"], "content": json.dumps(block)})


def several(*blocks: dict[str, object]) -> str:
    """Return the envelope of several."""
    return json.dumps({"type": "multi_content_result", "content": json.dumps(blocks)})


def offer_tool(name: str, answer: str, **options: object) -> None:
    """Declare a tool that answers the same each time."""

    @scenarios.mcp_tool_trigger(arg_name="context", tool_name=name, description="A scenario's tool.", **options)
    @named(name)
    def function(context: str) -> str:
        return answer


def named(name: str) -> Callable[[Any], Any]:
    """Give a function its name, by which the app knows it."""

    def rename(function: Any) -> Any:
        function.__name__ = name
        return function

    return rename


MIXED = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
EMBEDDED = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
offer_tool("test_simple_text", "This is a simple text response for testing.")
offer_tool("test_image_content", one(IMAGE), use_result_schema=True)
offer_tool("test_audio_content", one(AUDIO), use_result_schema=True)
offer_tool("test_embedded_resource", one(EMBEDDED), use_result_schema=True)
SEVERAL = several(text("Multiple content types test:"), IMAGE, MIXED)
offer_tool("test_multiple_content_types", SEVERAL, use_result_schema=True)
offer_tool("json_schema_2020_12_tool", "called", useWorkerInputSchema=True, inputSchema=json.dumps(SCHEMA_2020_12))


@scenarios.mcp_tool_trigger(arg_name="context", tool_name="test_error_handling", description="Fails")
def test_error_handling(context: str) -> str:
    raise RuntimeError("This tool intentionally returns an error for testing")


def offer_resource(uri: str, name: str, content: str | bytes, mime_type: str) -> None:
    """Declare a resource."""
    options = {"uri": uri, "resource_name": name, "mime_type": mime_type, "description": "A scenario's resource."}

    @scenarios.mcp_resource_trigger(arg_name="context", **options)
    @named(name)
    def function(context: str) -> str | bytes:
        return content


offer_resource("test://static-text", "static_text", "This is the content of the static text resource.", "text/plain")
offer_resource("test://static-binary", "static_binary", b"\x89PNG", "image/png")


@scenarios.mcp_resource_trigger(
    arg_name="context", uri="test://template/{id}/data", resource_name="template", mime_type="application/json"
)
def template(context: str) -> str:
    item = json.loads(context)["uri"].split("/")[3]
    return json.dumps({"id": item, "templateTest": True, "data": f"Data for ID: {item}"})


@scenarios.mcp_prompt_trigger(arg_name="context", prompt_name="test_simple_prompt", description="Text")
def test_simple_prompt(context: func.PromptInvocationContext) -> str:
    return "This is a simple prompt for testing."


@scenarios.mcp_prompt_trigger(
    arg_name="context",
    prompt_name="test_prompt_with_arguments",
    description="Text with arguments",
    prompt_arguments=[PromptArgument("arg1", "First", True), PromptArgument("arg2", "Second", True)],
)
def test_prompt_with_arguments(context: func.PromptInvocationContext) -> str:
    return "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'".format(**context.arguments)


@scenarios.mcp_prompt_trigger(
    arg_name="context",
    prompt_name="test_prompt_with_embedded_resource",
    description="A resource",
    prompt_arguments=[PromptArgument("resourceUri", "What to embed", True)],
    useResultSchema=True,
)
def test_prompt_with_embedded_resource(context: func.PromptInvocationContext) -> str:
    uri = context.arguments["resourceUri"]
    return messages(
        embedded(uri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
    )


@scenarios.mcp_prompt_trigger(
    arg_name="context", prompt_name="test_prompt_with_image", description="An image", useResultSchema=True
)
def test_prompt_with_image(context: func.PromptInvocationContext) -> str:
    return messages(IMAGE, text("Please analyze the image above."))


def messages(*blocks: dict[str, object]) -> str:
    """Return the envelope of messages of the user, one for each block."""
    output = [{"role": "user", "content": block} for block in blocks]
    return json.dumps({"type": "prompt_messages", "content": json.dumps(output)})
