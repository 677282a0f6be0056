"""What the conformance scenarios ask a server to have, declared as a user declares it on the template's app."""

from __future__ import annotations

import json

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


@scenarios.mcp_tool_trigger(arg_name="context", tool_name="test_simple_text", description="Text")
def test_simple_text(context: str) -> str:
    return "This is a simple text response for testing."


@scenarios.mcp_tool_trigger(
    arg_name="context", tool_name="test_image_content", description="An image", use_result_schema=True
)
def test_image_content(context: str) -> str:
    return one(IMAGE)


@scenarios.mcp_tool_trigger(
    arg_name="context", tool_name="test_audio_content", description="Sound", use_result_schema=True
)
def test_audio_content(context: str) -> str:
    return one(AUDIO)


@scenarios.mcp_tool_trigger(
    arg_name="context", tool_name="test_embedded_resource", description="A resource", use_result_schema=True
)
def test_embedded_resource(context: str) -> str:
    return one(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))


@scenarios.mcp_tool_trigger(
    arg_name="context", tool_name="test_multiple_content_types", description="Several", use_result_schema=True
)
def test_multiple_content_types(context: str) -> str:
    resource = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    blocks = [text("Multiple content types test:"), IMAGE, resource]
    return json.dumps({"type": "multi_content_result", "content": json.dumps(blocks)})


@scenarios.mcp_tool_trigger(arg_name="context", tool_name="test_error_handling", description="Fails")
def test_error_handling(context: str) -> str:
    raise RuntimeError("This tool intentionally returns an error for testing")


@scenarios.mcp_tool_trigger(
    arg_name="context",
    tool_name="json_schema_2020_12_tool",
    description="Tool with JSON Schema 2020-12 features",
    useWorkerInputSchema=True,
    inputSchema=json.dumps(SCHEMA_2020_12),
)
def json_schema_2020_12_tool(context: str) -> str:
    return "called"


@scenarios.mcp_resource_trigger(
    arg_name="context",
    uri="test://static-text",
    resource_name="static text",
    description="Text",
    mime_type="text/plain",
)
def static_text(context: str) -> str:
    return "This is the content of the static text resource."


@scenarios.mcp_resource_trigger(
    arg_name="context",
    uri="test://static-binary",
    resource_name="static binary",
    description="An image",
    mime_type="image/png",
)
def static_binary(context: str) -> bytes:
    return b"\x89PNG"


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
