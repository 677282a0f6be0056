"""What a developer is told on the local host, and nobody on Azure: why a run failed, and which runs a start took up."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from agent_framework import Agent

from hosting.settings import is_developers
from tests.support.app_folder import HOST_JSON, make_app
from tests.support.made_app import MEMORY, app_of, ask, served
from tests.support.running_host import GUARD_SECONDS, START_GUARD_SECONDS, RunningHost

LOCAL = {"AzureWebJobsScriptRoot": "/app", "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}
APP = """
import asyncio, sys
from pathlib import Path
from agent_framework import Agent, tool
from agents.offline import OfflineChatClient
from hosting.app import AgentFunctionApp
from hosting.tools import idempotent

@idempotent
@tool
async def wait() -> str:
    "Wait for a file."
    print("the tool waits", flush=True)
    while not Path("go").exists():
        await asyncio.sleep(0.05)
    return "seen"

app = AgentFunctionApp(agents=[Agent(client=OfflineChatClient(), name="Joker", tools=[wait])])
"""


class Broken(Agent):
    """An agent whose code raises."""

    def run(self, *args, **options):
        raise ValueError("no such\n city")


@pytest.mark.behaviour("http.local-cause")
@pytest.mark.parametrize(
    ("environ", "told"),
    [(LOCAL, " failed: ValueError: no such city. Its log has more"), ({}, "; its log has the cause")],
)
async def test_a_failed_run_carries_its_cause_on_the_local_host_alone(environ: dict[str, str], told: str) -> None:
    """In one line; whoever runs the app without a host gets our sentence, as callers on Azure do."""
    app = app_of(Broken(client=None, name="Joker"), environ={**MEMORY, **environ})
    async with served(app) as (_, http):
        problem = (await ask(http, "hi")).json()

    assert (problem["code"], told in problem["detail"]) == ("run_failed", True), problem


@pytest.mark.behaviour("http.local-cause")
@pytest.mark.parametrize("azure", [{"WEBSITE_SITE_NAME": "shop"}, {"WEBSITE_INSTANCE_ID": "1"}])
def test_on_azure_no_environment_name_makes_the_app_a_developers(azure: dict[str, str]) -> None:
    """A slot may be named Development, and serves others all the same."""
    assert is_developers(LOCAL)
    assert not is_developers({**LOCAL, **azure})
    assert not is_developers({"AzureWebJobsScriptRoot": "/app"})


@pytest.mark.slow
@pytest.mark.behaviour("service.taken-up-told")
def test_a_restarted_host_says_which_runs_it_took_up_and_nothing_of_our_loggers(tmp_path: Path) -> None:
    """Stopped while a tool waits, and started again: one line names the run; none is about what Azure would drop."""
    folder = make_app(tmp_path, APP, host=HOST_JSON)
    run = "/api/agents/Joker/run?thread_id=t"
    with RunningHost(folder) as first:
        later = {"x-ms-wait-for-response": "no"}
        run_id = httpx.post(f"{first.origin}{run}", content="Call wait with {}", headers=later).headers["x-ms-run-id"]
        first.wait_for("the tool waits", GUARD_SECONDS)
        first.stop()
    with RunningHost(folder) as second:
        line = second.wait_for("is taken up", START_GUARD_SECONDS)
        (folder / "go").touch()
        second.wait_for("attempts 2", START_GUARD_SECONDS)
        second.stop()

    assert f"Run {run_id} of agent joker is taken up: attempt 2." in line
    printed = first.printed + second.printed
    assert [line for line in printed if "outside of an invocation" in line and "'hosting" in line] == []


@pytest.mark.slow
@pytest.mark.behaviour("service.taken-up-told")
def test_a_host_that_starts_after_a_kill_says_which_run_was_interrupted_and_when_it_goes_on(tmp_path: Path) -> None:
    """At once, though it is taken up only when its claim has run out; a run of its own is told by no such line."""
    folder = make_app(tmp_path, APP, host=HOST_JSON)
    run, call = "/api/agents/Joker/run?thread_id=", "Call wait with {}"
    with ThreadPoolExecutor() as pool:
        with RunningHost(folder) as first:
            broken = pool.submit(httpx.post, f"{first.origin}{run}t", content=call, timeout=START_GUARD_SECONDS)
            first.wait_for("the tool waits", GUARD_SECONDS)
        assert isinstance(broken.exception(GUARD_SECONDS), httpx.TransportError)
    with RunningHost(folder) as second:
        line = second.wait_for("was interrupted", GUARD_SECONDS)
        later = {"x-ms-wait-for-response": "no"}
        httpx.post(f"{second.origin}{run}own", content=call, headers=later)
        second.wait_for("the tool waits", GUARD_SECONDS)

    assert "of agent joker was interrupted: it is taken up within 27 s, unless another process works on it." in line
    assert second.printed_so_far().count("was interrupted") == 1
