"""Indexes and invokes one app, by this project's worker half or by Microsoft's worker library, and prints what came.

`python both_workers.py ours` or `python both_workers.py library FOLDER`, in the app's folder; prints one JSON object.
Invocations are told in one shape for both: `["ok", type, value]` or `["failed", "TypeName: text"]`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from devhost.durable.management.addresses import client_binding

CALLS: list[tuple[str, str, str, str]] = [
    # function, parameter, kind of datum, its value
    ("echo", "value", "json", '{"a": 1}'),
    ("echo", "value", "json", '"text"'),
    ("echo", "value", "json", "null"),
    ("echo", "value", "json", "5"),
    ("activity_async", "value", "json", '{"b": 1, "a": 2}'),
    ("activity_fails", "value", "json", '"gone"'),
    ("activity_unsendable", "value", "json", '"x"'),
    ("activity_of_a_blueprint", "value", "json", "41"),
    ("entity_generic", "context", "string", "{}"),
    ("timer", "timer", "json", '{"IsPastDue": true}'),
    ("tool", "context", "string", '{"name": "tool"}'),
    ("resource", "context", "string", '{"uri": "shape://one"}'),
]
REQUESTS = ["http_response", "http_text", "http-generic", "http_context", "http_client", "http_fails"]
CLIENT = client_binding("http://localhost:7071", "http://127.0.0.1:7071/durabletask/", "TestHubName", None)
HTTP_URL = "http://localhost/api/shapes/one?q=2"


def received(value: Any) -> Any:
    """Return a datum's value as JSON can hold it."""
    if isinstance(value, dict):
        return {key: received(getattr(inner, "value", inner)) for key, inner in value.items()}
    return value.decode() if isinstance(value, bytes) else value


class Ours:
    """The worker half of the local host."""

    def __init__(self) -> None:
        from devhost.invoke import Invoker
        from devhost.loader import load_hosted_app
        from devhost.settings import read_host_settings

        app = load_hosted_app(read_host_settings(Path.cwd(), os.environ), os.environ)
        self._functions = {function.name: function for function in app.index.functions}
        self._invoker = Invoker(2, None, lambda: CLIENT)

    async def index(self) -> dict[str, Any]:
        return {name: [one.function_id, list(one.bindings)] for name, one in self._functions.items()}

    async def call(self, name: str, parameter: str, kind: Any, value: str) -> list[Any]:
        from devhost.converters import decode_text

        function = self._functions[name]
        return await self._answer(name, decode_text(function.trigger_type, value, kind))

    async def request(self, name: str) -> list[Any]:
        from azure.functions.http import HttpRequest

        request = HttpRequest(
            "POST", HTTP_URL, headers={}, params={"q": "2"}, route_params={"name": "one"}, body_type="bytes", body=b"in"
        )
        return await self._answer(name, request)

    async def _answer(self, name: str, value: object) -> list[Any]:
        from devhost.converters import encode_result
        from devhost.ports import FunctionFailedError

        function = self._functions[name]
        try:
            result = await self._invoker.call(function, value, "an-id")
            if function.output is None:
                return ["ok", None, None]
            datum = encode_result(function.output, result)
        except FunctionFailedError as error:
            return ["failed", error.message.partition(":")[0]]
        return ["ok", datum.type, received(datum.value)]


class _Protos(type):
    def __getattr__(cls, name: str) -> Any:
        return type(name, (SimpleNamespace,), {})


class Library:
    """Microsoft's worker library, driven without gRPC, with stand-ins for its messages."""

    async def index(self) -> dict[str, Any]:
        import azure_functions_runtime as runtime

        binding = type("BindingInfo", (SimpleNamespace,), {"out": 1, "inout": 2, "undefined": 0, "in": 0})
        status = type("StatusResult", (SimpleNamespace,), {"Success": 1, "Failure": 0})
        protos = _Protos("protos", (), {"BindingInfo": binding, "StatusResult": status})
        runtime.start_threadpool_executor()
        requested = SimpleNamespace(capabilities={}, function_app_directory=os.getcwd())
        request = SimpleNamespace(
            request=SimpleNamespace(worker_init_request=requested), properties={"host": "127.0.0.1", "protos": protos}
        )
        started = await runtime.worker_init_request(request)
        assert started.result.status == 1, started.result.exception.message
        found = await runtime.functions_metadata_request(request)
        results = found.function_metadata_results
        self._ids = {one.name: one.function_id for one in results}
        return {one.name: [one.function_id, [json.loads(raw) for raw in one.raw_bindings]] for one in results}

    async def call(self, name: str, parameter: str, kind: str, value: str) -> list[Any]:
        from azure_functions_runtime.bindings.datumdef import Datum

        return await self._invoke(name, [(parameter, Datum(value, kind))])

    async def request(self, name: str) -> list[Any]:
        from azure_functions_runtime.bindings.datumdef import Datum

        def text(value: str) -> Any:
            return Datum(value, "string")

        parts = {
            "method": text("POST"),
            "url": text(HTTP_URL),
            "headers": {},
            "params": {"name": text("one")},
            "query": {"q": text("2")},
            "body": Datum(b"in", "bytes"),
        }
        inputs = [("req", Datum(parts, "http"))]
        if name == "http_client":
            inputs.append(("client", text(CLIENT)))
        return await self._invoke(name, inputs)

    async def _invoke(self, name: str, inputs: list[Any]) -> list[Any]:
        from azure_functions_runtime import native_invocation

        ok, answer, _, failure, _ = await native_invocation.invocation_request_native(
            "an-id", self._ids[name], inputs, {}, "", "", 0, 0, None
        )
        if not ok:
            return ["failed", str(failure).partition("(")[0]]
        return ["ok", answer and answer.type, received(answer.value) if answer else None]


async def report(worker: Ours | Library) -> dict[str, Any]:
    """Return all that the worker answered."""
    index = await worker.index()
    calls = {f"{call[0]} {call[3]}": await worker.call(*call) for call in CALLS}
    requests = {name: await worker.request(name) for name in REQUESTS}
    return {"index": index, "calls": calls, "requests": requests}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.path.insert(0, os.getcwd())
    if sys.argv[1] == "library":
        sys.path.insert(0, sys.argv[2])
    print(json.dumps(asyncio.run(report(Library() if sys.argv[1] == "library" else Ours())), default=str))
    sys.stdout.flush()
    os._exit(0)
