"""Runs one agent on Microsoft's worker library for Python 3.13, and prints what its worker would find at each record.

`python logging_worker.py`, in the app's folder, with the library and the app's requirements installed. The library is
what calls functions; the worker around it, which is in no registry, looks for an invocation's id at three places as a
record is logged: `task`, `variable`, `storage`. One JSON object for each record of interest.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from types import SimpleNamespace
from typing import Any

import azure_functions_runtime as runtime
from azure_functions_runtime import native_invocation
from azure_functions_runtime.bindings.context import _invocation_id_local
from azure_functions_runtime.bindings.datumdef import Datum

from devhost.durable.management.addresses import client_binding
from hosting.invocation import TASK_MARK

INTERESTING = ("shop", "hosting.core.agent.agent_runner", "agent_framework")


class Found(logging.Handler):
    """Prints where the id stands."""

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`."""
        if record.name.startswith(INTERESTING):
            loop = asyncio._get_running_loop()
            task = asyncio.current_task(loop) if loop is not None else None
            found = {
                "logger": record.name,
                "said": record.getMessage().split(" at ")[0],
                "has_traceback": bool(record.exc_info),
                "task": getattr(task, TASK_MARK, None),
                "variable": runtime.invocation_id_cv.get(),
                "storage": getattr(_invocation_id_local, "invocation_id", None),
            }
            print(json.dumps(found), flush=True)


class _Messages(type):
    """Stands for the worker's message classes: each keeps what it is given."""

    def __getattr__(cls, name: str) -> Any:
        return type(name, (SimpleNamespace,), {})


async def started() -> dict[str, str]:
    """Load the app and return its functions' ids by name."""
    binding = type("BindingInfo", (SimpleNamespace,), {"out": 1, "inout": 2, "undefined": 0, "in": 0})
    status = type("StatusResult", (SimpleNamespace,), {"Success": 1, "Failure": 0})
    messages = _Messages("protos", (), {"BindingInfo": binding, "StatusResult": status})
    runtime.start_threadpool_executor()
    init_request = SimpleNamespace(capabilities={}, function_app_directory=os.getcwd())
    request = SimpleNamespace(
        request=SimpleNamespace(worker_init_request=init_request), properties={"host": "127.0.0.1", "protos": messages}
    )
    answer = await runtime.worker_init_request(request)
    assert answer.result.status == 1, answer.result.exception.message
    found = await runtime.functions_metadata_request(request)
    return {one.name: one.function_id for one in found.function_metadata_results}


def batch(message: str, key: str) -> str:
    """Return the batch of one call of a run that carries its request."""
    value = json.dumps({"message": message, "run_id": key * 32})
    operation = {"name": "run", "input": json.dumps(value), "isSignal": False, "id": "1"}
    entity = {"name": "dafx-joker", "key": key}
    return json.dumps({"self": entity, "exists": False, "state": None, "batch": [operation]})


async def main() -> None:
    """Run a few messages at once, each as the invocation that is named after its thread."""
    ids = await started()
    client = client_binding("http://localhost:7071", "http://127.0.0.1:7071/durabletask/", "TestHubName", None)

    async def invoked(key: str, message: str) -> None:
        inputs = [("batch", Datum(batch(message, key), "string")), ("client", Datum(client, "string"))]
        ok, *_, text, trace = await native_invocation.invocation_request_native(
            f"invocation-{key}", ids["dafx-Joker"], inputs, {}, "", "", 0, 0, None
        )
        assert ok, (text, trace)

    by_key = {"a": "tool works", "b": "tool waits", "c": "tool waits", "d": "fail"}
    await asyncio.gather(*(asyncio.create_task(invoked(key, message)) for key, message in by_key.items()))


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    logging.getLogger().setLevel(logging.INFO)
    logging.getLogger().addHandler(Found())
    asyncio.run(main())
    sys.stdout.flush()
    os._exit(0)
