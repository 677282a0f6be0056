"""Queues and blobs that HTTP functions write and read, as the real host was recorded to do it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, List  # noqa: UP035 - the worker takes no list[str] in Out

import azure.durable_functions as df
import azure.functions as func

app = df.DFApp(http_auth_level=func.AuthLevel.ANONYMOUS)
ACCOUNT = "AzureWebJobsStorage"

MESSAGES: Mapping[str, Callable[[], Any]] = {
    "list": lambda: ["one", "two", "three"],
    "empty": list,
    "str": lambda: "text é",
    "json": lambda: json.dumps({"a": 1}),
    "spaced": lambda: ' {"a": [1, {"b": 2.50}], "c": "é"}',
    "array": lambda: json.dumps([{"a": 1}, "x", 3]),
    "text": lambda: '"quoted"',
    "bytes": lambda: b"\x00\xff\x01",
    "messages": lambda: [func.QueueMessage(body="m1"), func.QueueMessage(body="m2")],
    "nothing": lambda: "",
    "large": lambda: "x" * 70000,
    "many": lambda: [f"m{number}" for number in range(50)],
}


@app.route(route="out/{queue}/{mode}", methods=["POST"])
@app.queue_output(arg_name="out", queue_name="{queue}", connection=ACCOUNT)
def out(req: func.HttpRequest, out: func.Out[func.QueueMessage]) -> str:
    mode = req.route_params["mode"]
    out.set(None if mode == "none" else func.QueueMessage(id="mine", body="from QueueMessage"))
    if mode == "raise":
        raise RuntimeError("after the set")
    return "ok"


@app.route(route="outs/{queue}/{mode}", methods=["POST"])
@app.queue_output(arg_name="out", queue_name="{queue}", connection=ACCOUNT)
def outs(req: func.HttpRequest, out: func.Out[List[str]]) -> str:  # noqa: UP006
    out.set(MESSAGES[req.route_params["mode"]]())
    if "twice" in req.params:
        out.set(["second set"])
    return "ok"


@app.route(route="text/{queue}/{mode}", methods=["POST"])
@app.queue_output(arg_name="out", queue_name="{queue}", connection=ACCOUNT)
def text(req: func.HttpRequest, out: func.Out[str]) -> str:
    out.set(MESSAGES[req.route_params["mode"]]())
    return "ok"


@app.route(route="returned/{queue}", methods=["POST"])
@app.generic_output_binding(arg_name="$return", type="queue", queueName="{queue}", connection=ACCOUNT)
def returned(req: func.HttpRequest) -> str:
    return "what it returned"


@app.route(route="blob/{container}/{name}", methods=["POST"])
@app.blob_output(arg_name="out", path="{container}/{name}", connection=ACCOUNT)
def write_blob(req: func.HttpRequest, out: func.Out[bytes]) -> str:
    content = req.get_body()
    out.set(content.decode() if "text" in req.params else content)
    if "twice" in req.params:
        out.set(b"second set")
    if "raise" in req.params:
        raise RuntimeError("after the set")
    return "ok"


@app.route(route="blob/{container}/{name}", methods=["GET"])
@app.blob_input(arg_name="blob", path="{container}/{name}", connection=ACCOUNT)
def read_blob(req: func.HttpRequest, blob: func.InputStream) -> str:
    if blob is None:
        return "None"
    members = (blob.name, blob.length, blob.uri, blob.blob_properties)
    return repr((members, blob.read()))


@app.route(route="text_of/{container}/{name}", methods=["GET"])
@app.blob_input(arg_name="blob", path="{container}/{name}", connection=ACCOUNT)
def read_text(req: func.HttpRequest, blob: str) -> str:
    return repr(blob)


@app.route(route="both/{container}", methods=["POST"])
@app.queue_output(arg_name="queue", queue_name="{container}", connection=ACCOUNT)
@app.blob_output(arg_name="blob", path="{container}/both.txt", connection=ACCOUNT)
def both(req: func.HttpRequest, queue: func.Out[str], blob: func.Out[str]) -> str:
    blob.set("blob")
    queue.set("x" * 70000)
    return "ok"


@app.queue_trigger(arg_name="msg", queue_name="%HELD%", connection=ACCOUNT)
def hold(msg: func.QueueMessage) -> None:
    receipt = json.dumps([msg.id, msg.pop_receipt, msg.dequeue_count])
    print(f"held {receipt}", flush=True)
    if msg.dequeue_count == 1:
        time.sleep(60)


@app.queue_trigger(arg_name="msg", queue_name="%COUNTED%", connection=ACCOUNT)
@app.queue_output(arg_name="out", queue_name="%COUNTED%-done", connection=ACCOUNT)
async def count(msg: func.QueueMessage, out: func.Out[str]) -> None:
    out.set(msg.get_body().decode())
