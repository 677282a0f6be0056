"""An app that knows its callers, as a file: whoever says so in `x-user` is signed in, and `root` administers it."""

from __future__ import annotations

import shutil
from pathlib import Path

from hosting.core.stores.memory import MemoryObjects
from hosting.core.thread.commands import Command
from hosting.core.thread_log import ThreadLog
from hosting.host_settings import task_hub
from hosting.names import Address
from hosting.settings import read_settings
from hosting.store_choice import choose_thread_store
from tests.support.carriers import APP

ISSUER = "https://login.example"
SOURCE = """\
import azure.durable_functions as df
import azure.functions as func
from scripted import scripted_agent

from hosting.app import AgentFunctionApp, Principal


def who(request):
    name = request.headers.get("x-user")
    roles = ("operators",) if name == "root" else ()
    return None if name is None else Principal("ISSUER", name, roles=roles)


app = AgentFunctionApp(agents=[scripted_agent("Joker")], principal=who)


@app.route(route="begin/{thread}", methods=["POST"])
@app.durable_client_input(client_name="client")
async def begin(req: func.HttpRequest, client: df.DurableOrchestrationClient) -> func.HttpResponse:
    return await app.run_orchestration(req, client, "ask", req.route_params["thread"], wait_seconds=20)


@app.orchestration_trigger(context_name="context")
def ask(context: df.DurableOrchestrationContext):
    joker = app.get_agent(context, "Joker")
    answer = yield joker.run("hello", session=joker.get_session(context.get_input()))
    return answer.text
""".replace("ISSUER", ISSUER)


def app_of_known_callers(folder: Path) -> Path:
    """Return the app's folder, made in that one."""
    copied = folder / "app"
    shutil.copytree(APP, copied, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    (copied / "function_app.py").write_text(SOURCE, encoding="utf-8")
    return copied


async def left_behind(folder: Path, address: Address, step: Command, **environ: str) -> None:
    """Append what another process of the app in that folder, with such settings, did before it was killed."""
    hub = task_hub(folder, environ)
    log = ThreadLog(choose_thread_store(read_settings(environ), folder, environ, hub), MemoryObjects(), hub)
    await log.execute(address, step)
    await log.close()
