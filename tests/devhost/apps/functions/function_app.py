"""Functions of both HTTP styles, MCP tools, an orchestration, and triggers that the local host does not run."""

import asyncio
import dataclasses
import json
import os
import threading
import time

import azure.durable_functions as df
import azure.functions as func
from azurefunctions.extensions.http.fastapi import JSONResponse, Request, Response, StreamingResponse
from fastapi import HTTPException
from starlette.background import BackgroundTask

from hosting.principal import PrincipalRequest, easy_auth

app = df.DFApp(http_auth_level=func.AuthLevel.ANONYMOUS)
left = asyncio.Event()
signed_in = easy_auth()
ERRORS = {"cancelled": asyncio.CancelledError, "exits": SystemExit, "interrupts": KeyboardInterrupt}

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


@app.route(route="raises/{kind}")
async def raises(req: func.HttpRequest) -> func.HttpResponse:
    raise ERRORS.get(req.route_params["kind"], ValueError)("not for callers")


@app.route(route="length", methods=["POST"])
def length(req: func.HttpRequest) -> str:
    print("taken")
    return str(len(req.get_body()))


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


@app.route(route="streaming/echo/{name}", methods=["GET", "POST"])
async def streaming_echo(req: Request) -> Response:
    return JSONResponse(
        {
            "method": req.method,
            "url": str(req.url),
            "path": dict(req.path_params),
            "query": req.query_params.multi_items(),
            "forwarded": {name: value for name, value in req.headers.items() if name.startswith("x-")},
            "length": len(await req.body()),
        }
    )


@app.route(route="streaming/results/{kind}")
async def streaming_results(req: Request):
    kind = req.path_params["kind"]
    if kind == "refuse":
        raise HTTPException(status_code=418, detail="a teapot")
    if kind in ERRORS or kind == "raise":
        raise ERRORS.get(kind, ValueError)("not for callers")
    return {"dict": {"a": [1]}, "none": None, "text": "t", "number": 5}[kind]


@app.route(route="streaming/chunks")
async def streaming_chunks(req: Request) -> StreamingResponse:
    async def chunks():
        for number in range(3):
            yield f"data: {number}\n\n"
            await asyncio.sleep(0)

    return StreamingResponse(chunks(), media_type="text/event-stream")


@app.route(route="streaming/endless", methods=["GET", "POST"])
async def streaming_endless(req: Request) -> StreamingResponse:
    await req.body()

    async def chunks():
        try:
            while True:
                yield "word\n"
                await asyncio.sleep(0.001)
        finally:
            left.set()

    return StreamingResponse(chunks())


@app.route(route="streaming/left")
async def streaming_left(req: Request) -> Response:
    await left.wait()
    return Response("the generator was cancelled")


class ReadApart(Response):
    """A stream that is read in a task of its own, as other libraries have them."""

    def __init__(self, chunks):
        super().__init__()
        self.body_iterator = chunks

    async def __call__(self, scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.create_task(self.read(send))

    async def read(self, send):
        async for chunk in self.body_iterator:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})


@app.route(route="streaming/breaks/{where}/{kind}")
async def streaming_breaks(req: Request) -> Response:
    async def fail():
        raise ERRORS.get(req.path_params["kind"], ValueError)("not for callers")

    async def chunks():
        yield b"first"
        await fail()

    where = req.path_params["where"]
    if where == "behind":
        return Response("whole", background=BackgroundTask(fail))
    return ReadApart(chunks()) if where == "apart" else StreamingResponse(chunks())


def who_asks(headers, is_mcp=False):
    """Who easy_auth says that it is, and what it read."""
    lower = {name.lower(): value for name, value in headers.items()}
    who = signed_in(PrincipalRequest(lower, "echo", is_mcp=is_mcp))
    sent = {name: value for name, value in lower.items() if "principal" in name}
    return {"who": who and dataclasses.asdict(who), "sent": sent, "on": os.environ.get("WEBSITE_AUTH_ENABLED")}


@app.route(route="who/classic")
def who_classic(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(json.dumps(who_asks(req.headers)))


@app.route(route="who/fastapi")
async def who_fastapi(req: Request) -> JSONResponse:
    return JSONResponse(who_asks(req.headers))


@app.orchestration_trigger(context_name="context")
def hello(context):
    return 1
    yield


@app.mcp_tool_trigger(arg_name="context", tool_name="whoami", description="Says who asks")
def whoami(context: str) -> str:
    return json.dumps(who_asks(json.loads(context)["transport"]["properties"]["headers"], is_mcp=True))


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
