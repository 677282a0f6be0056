"""The scripted agent in a process that kills itself before or after one step of its first turn.

KILL_AT names the step, as `before append` or `after append 2`: the n-th `append` to the log, the `signal` of the
entity, or of a trigger's delivery its `end` and its `output`. `POST deliver` calls the triggered function as the host
does, and writes its output to the file ANSWERS.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Awaitable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import azure.functions as func
from scripted import scripted_agent

import hosting.app
import hosting.functions.durable
from hosting.functions.durable import DurableClient
from hosting.tools import ENGINE
from tests.support.deliveries import Out, queued

T = TypeVar("T")
kill_at = os.environ.get("KILL_AT", "")
passed: Counter[str] = Counter()


async def stepped(name: str, step: Awaitable[T]) -> T:
    """Do the step, unless this process is to die before or after it."""
    passed[name] += 1
    here = name if passed[name] == 1 else f"{name} {passed[name]}"
    if kill_at == f"before {here}":
        os.kill(os.getpid(), signal.SIGKILL)
    done = await step
    if kill_at == f"after {here}":
        os.kill(os.getpid(), signal.SIGKILL)
    return done


class SteppedStore:
    """The real store, its appends counted."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, *arguments: Any, **named: Any) -> Any:
        return await stepped("append", self._store.append(*arguments, **named))


class SteppedClient(DurableClient):
    """The real client, its signal counted."""

    async def signal(self, *arguments: Any) -> None:
        await stepped("signal", super().signal(*arguments))


choose = hosting.store_choice.choose_thread_store
hosting.store_choice.choose_thread_store = lambda *arguments: SteppedStore(choose(*arguments))
hosting.functions.durable.DurableClient = SteppedClient
hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)


class IndexedApp(hosting.app.AgentFunctionApp):
    """The app, whose functions can be called here as the host calls them."""

    def get_functions(self) -> list[Any]:
        """Return the functions."""
        functions = super().get_functions()
        self.handlers = {each.get_function_name(): each.get_user_function() for each in functions}
        return functions


app = IndexedApp(agents=[scripted_agent("Joker")])


async def end(run: hosting.app.AgentRun) -> str:
    """Return the run and its answer."""

    async def answer() -> str:
        return f"{run.run_id} {run.response}"

    return await stepped("end", answer())


@app.agent_trigger("Joker", on_end=end)
@app.queue_trigger(arg_name="message", queue_name="inbox", connection="AzureWebJobsStorage")
@app.queue_output(arg_name="answers", queue_name="answers", connection="AzureWebJobsStorage")
def inbox(message: func.QueueMessage) -> None:
    """Send the body."""


@app.route(route="deliver", methods=["POST"])
async def deliver(req: func.HttpRequest) -> func.HttpResponse:
    """Deliver a message with this body once more."""
    answers = Out()
    message = queued(req.get_body().decode(), tries=int(req.params["tries"]))
    await app.handlers["inbox"](message=message, answers=answers, agentsClient=ENGINE.get().client.sdk)

    async def write() -> None:
        with Path(os.environ["ANSWERS"]).open("a") as file:
            file.write(f"{answers.values[0]}\n")

    await stepped("output", write())
    return func.HttpResponse(answers.values[0])
