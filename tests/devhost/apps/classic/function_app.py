"""Functions on the classic HTTP types, MCP tools, and triggers that the local host does not run."""

import asyncio
import json
import os
import threading
import time

import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)

RETURNS = {
    "none": None,
    "dict": {"a": 1},
    "text": "plain text",
    "empty": "",
    "json_object": '{"a":1,"b":[1,2],"c":"x"}',
    "json_list": "[1,2]",
    "json_text": '"q"',
    "envelope": '{"statusCode":201,"headers":{"x-y":"z","content-type":"application/x-z"},"body":{"a":1}}',
    "status_text": '{"status":"202","body":"text"}',
}


def _responses() -> dict[str, func.HttpResponse]:
    return {
        "response": func.HttpResponse('{"a":1}', mimetype="application/json"),
        "no_content": func.HttpResponse("body", status_code=204),
        "odd_status": func.HttpResponse("odd", status_code=599),
        "wrong_length": func.HttpResponse("h", headers={"Content-Length": "99"}),
        "latin": func.HttpResponse("é", charset="latin-1", mimetype="text/html"),
    }


@app.route(route="echo/{name}/{id:int?}", methods=["GET", "POST", "PUT"])
def echo(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    seen = {
        "method": req.method,
        "url": req.url,
        "header": req.headers.get("X-Test"),
        "params": dict(req.params),
        "route": dict(req.route_params),
        "body": req.get_body().decode(),
        "function": context.function_name,
        "has_id": bool(context.invocation_id),
        "thread": threading.current_thread() is not threading.main_thread(),
    }
    return func.HttpResponse(json.dumps(seen), mimetype="application/json")


@app.route(route="returns/{kind}")
def returns(req: func.HttpRequest):
    kind = req.route_params["kind"]
    return RETURNS[kind] if kind in RETURNS else _responses()[kind]


@app.route(route="raises")
async def raises(req: func.HttpRequest) -> func.HttpResponse:
    raise ValueError("not for callers")


@app.route(route="slow/{how}")
async def slow(req: func.HttpRequest) -> func.HttpResponse:
    await asyncio.sleep(float(req.route_params["how"]))
    return func.HttpResponse("in time")


@app.route(route="slow_thread/{how}")
def slow_thread(req: func.HttpRequest) -> func.HttpResponse:
    time.sleep(float(req.route_params["how"]))
    return func.HttpResponse("in time")


@app.route(route="setting/{name}")
async def setting(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(os.environ.get(req.route_params["name"], "unset"))


@app.route(route="admin-only")
def hidden(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("never")


@app.route(route="turned-off")
def turned_off(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("never")


@app.route(route="shadow/{value}")
def a_parameter(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("a_parameter")


@app.route(route="shadow/literal")
def b_literal(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("b_literal")


@app.generic_trigger(arg_name="message", type="kafkaTrigger")
def streamed(message) -> None:
    raise AssertionError("Kafka is not read")


WEATHER_PROPERTIES = json.dumps(
    [
        {"propertyName": "city", "propertyType": "string", "description": "Where.", "isRequired": True},
        {"propertyName": "days", "propertyType": "integer", "description": "How many."},
        {"propertyName": "tags", "propertyType": "string", "description": "Tags.", "isArray": True},
    ]
)


@app.mcp_tool_trigger(
    arg_name="context", tool_name="weather", description="Tells the weather", tool_properties=WEATHER_PROPERTIES
)
async def weather(context: str) -> str:
    return f"seen {context}"


@app.mcp_tool_trigger(arg_name="context", tool_name="broken", description="Fails")
def broken(context: str) -> str:
    raise ValueError("not for callers")


@app.mcp_tool_trigger(arg_name="context", tool_name="as_dict", description="Answers a dict")
def as_dict(context: str):
    return {"a": 1}


@app.mcp_tool_trigger(arg_name="context", tool_name="envelope", description="Answers whole", use_result_schema=True)
def envelope(context: str) -> str:
    block = {"type": "text", "text": "own text"}
    content = {"content": [block, block], "structuredContent": {"a": 1}, "isError": True, "_meta": {"k": "v"}}
    answers = {
        "call": {"type": "call_tool_result", "content": json.dumps(content)},
        "empty_call": {"type": "call_tool_result", "content": "{}"},
        "several": {"type": "multi_content_result", "content": json.dumps([block]), "structuredContent": '{"s":1}'},
        "no_block": {"type": "multi_content_result", "content": "[]"},
        "one": {"type": "text", "content": json.dumps(block)},
        "nested": {"type": "text", "content": block},
    }
    mode = json.loads(context)["arguments"]["mode"]
    return json.dumps(answers[mode]) if mode in answers else "plain"


@app.mcp_resource_trigger(arg_name="context", uri="file://notes", resource_name="notes")
def notes(context: str) -> str:
    return "the notes"
