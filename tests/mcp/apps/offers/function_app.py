"""MCP resources and prompts of every declared shape."""

import json

import azure.functions as func
from azure.functions.decorators.mcp import PromptArgument

app = func.FunctionApp()


@app.mcp_resource_trigger(
    arg_name="context",
    uri="shop://hours",
    resource_name="opening hours",
    title="Opening hours",
    description="When the shop is open",
    mime_type="text/plain",
    size=5,
    metadata=json.dumps({"k": "v"}),
)
async def hours(context: str) -> str:
    return "9 to 5"


@app.mcp_resource_trigger(
    arg_name="context", uri="shop://logo", resource_name="logo", mime_type="application/octet-stream"
)
def logo(context: str) -> bytes:
    return b"\x00\x01"


@app.mcp_resource_trigger(arg_name="context", uri="shop://broken", resource_name="broken")
def broken(context: str) -> str:
    raise ValueError("not for callers")


@app.mcp_resource_trigger(
    arg_name="context", uri="shop://items/{id}/parts/{part}", resource_name="part", mime_type="application/json"
)
def part(context: str) -> str:
    return context


@app.mcp_resource_trigger(arg_name="context", uri="shop://items/1/parts/all", resource_name="all parts")
def all_parts(context: str) -> str:
    return "all"


@app.mcp_resource_trigger(arg_name="context", uri="shop://own", resource_name="own", use_result_schema=True)
def own(context: str) -> str:
    return json.dumps({"content": json.dumps({"uri": "shop://own", "mimeType": "text/x-own", "text": "own"})})


@app.mcp_resource_trigger(arg_name="context", uri="shop://own/wrong", resource_name="own wrong", use_result_schema=True)
def own_wrong(context: str) -> str:
    return "no envelope"


@app.mcp_prompt_trigger(
    arg_name="context",
    prompt_name="greet",
    prompt_arguments=[PromptArgument("who", "Whom to greet", True), PromptArgument("how")],
    title="Greeting",
    description="Greets",
)
async def greet(context: func.PromptInvocationContext) -> str:
    return f"{context.name}: {json.dumps(context.arguments)} of {context.sessionid}"


@app.mcp_prompt_trigger(
    arg_name="context",
    prompt_name="decorated",
    metadata=json.dumps({"k": "v"}),
    icons=json.dumps([{"src": "https://example.com/icon.png"}]),
)
def decorated(context: func.PromptInvocationContext) -> str:
    return json.dumps({"messages": [{"role": "assistant", "content": {"type": "text", "text": "not read"}}]})


@app.mcp_prompt_trigger(arg_name="context", prompt_name="broken prompt")
def broken_prompt(context: func.PromptInvocationContext) -> str:
    raise ValueError("not for callers")


ASSISTANT = {"role": "assistant", "content": {"type": "text", "text": "read"}}


@app.mcp_prompt_trigger(arg_name="context", prompt_name="talk", useResultSchema=True)
def talk(context: func.PromptInvocationContext) -> str:
    answers = {
        "whole": {
            "type": "get_prompt_result",
            "content": json.dumps({"description": "d", "messages": [ASSISTANT]}),
        },
        "messages": {"type": "prompt_messages", "content": json.dumps([ASSISTANT])},
        "unknown": {"type": "else", "content": "[]"},
    }
    return json.dumps(answers[context.arguments["mode"]])
