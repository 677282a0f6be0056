"""The next version of agent-framework-azurefunctions: its options and methods, and a thread that it wrote."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from hosting.errors import ConfigurationError
from hosting.upstream import AGENT_OPTIONS, APP_OPTIONS, WORKFLOW_OPTIONS
from tests.support.app.scripted import scripted_agent
from tests.support.direct import DirectHost
from tests.support.flows import text_flow
from tests.support.made_app import app_of, ask, served
from tests.support.state_documents import GOLDEN

GIVEN: dict[str, Any] = {
    "deployment_mode": "isolated_v2",
    "retention": "follow_compaction",
    "max_state_bytes": 800_000,
    "high_watermark": 0.9,
    "low_watermark": 0.6,
    "response_delivery_window_seconds": 120,
}
"""A value of each option that is so for no app of ours."""


def value_of(name: str) -> Any:
    """Return the value of an option, or of that of workflows."""
    return GIVEN[name.removeprefix("workflow_")]


IDLE = {
    "AgentFunctionApp": APP_OPTIONS.keys() - {"max_state_bytes"},
    "add_agent": AGENT_OPTIONS.keys() - {"entity_id", "workflow_name"},
    "configure_workflow": WORKFLOW_OPTIONS.keys(),
}


def given(where: str, options: dict[str, Any]) -> None:
    """Give the options to an app, to an agent of it, or to a workflow of it."""
    if where == "AgentFunctionApp":
        app_of(scripted_agent("Joker"), **options)
    elif where == "add_agent":
        app_of().add_agent(scripted_agent("Joker"), **options)
    else:
        app_of().configure_workflow(text_flow, **options)


@pytest.mark.behaviour("hosting.upstream-options")
@pytest.mark.parametrize(("where", "names"), IDLE.items(), ids=list(IDLE))
def test_what_an_option_does_instead_is_printed_in_one_line(
    where: str, names: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each by its name, its value and what to do; nothing is dropped in silence."""
    given(where, {name: value_of(name) for name in names})

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{where} has options that do nothing here. ")
    assert line.endswith(" See docs/guides/moving.md.")
    known = {**APP_OPTIONS, **AGENT_OPTIONS}
    assert [name for name in names if f" {name}={value_of(name)!r}: {known[name].instead}" not in line] == []


@pytest.mark.behaviour("hosting.upstream-options")
@pytest.mark.parametrize("where", IDLE)
def test_what_is_so_anyway_is_taken_in_silence(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    given(where, {**dict.fromkeys(IDLE[where]), "retention": "keep_all"})

    assert capsys.readouterr().err == ""


OF_NO_THREAD: dict[str, list[Any]] = {
    "deployment_mode": ["isolated_v3", True],
    "retention": ["auto", ["keep_all"]],
    "max_state_bytes": [0, 4095, 10**9 + 1, True, "8192"],
    "high_watermark": [0, 1.1, True, float("nan")],
    "low_watermark": [0, "0.6"],
    "response_delivery_window_seconds": [0, 1.5, float("nan")],
}
WRONG = [("AgentFunctionApp", name, value) for name, values in OF_NO_THREAD.items() for value in values] + [
    (where, name, OF_NO_THREAD[name.removeprefix("workflow_")][0]) for where, names in IDLE.items() for name in names
]


@pytest.mark.behaviour("hosting.upstream-options")
def test_a_value_that_is_none_of_its_options_is_refused() -> None:
    """As an option of the app, of its workflows, of an agent and of a workflow; with its name and the values."""
    for where, name, value in WRONG:
        with pytest.raises(ConfigurationError, match=rf"^{name} .*is .*must be "):
            given(where, {name: value})


@pytest.mark.behaviour("hosting.upstream-options")
def test_those_of_workflows_are_compared_with_each_other() -> None:
    app_of(low_watermark=0.6, workflow_high_watermark=0.5)

    with pytest.raises(ConfigurationError, match=r"^workflow_low_watermark of AgentFunctionApp is 0\.5"):
        app_of(workflow_low_watermark=0.5, workflow_high_watermark=0.5)


@pytest.mark.behaviour("hosting.upstream-options")
async def test_the_most_bytes_of_a_state_are_the_limit_of_each_thread() -> None:
    environ = {"AGENT_LOG": "memory", "AGENT_STATE_LIMIT_BYTES": "9000"}
    async with served(app_of(scripted_agent("Joker"), environ=environ, max_state_bytes=800_000)) as (_, http):
        await ask(http, "hi", thread_id="t")
        thread = await http.get("/api/agents/Joker/threads/t")

    assert thread.json()["limit_bytes"] == 800_000


@pytest.mark.behaviour("hosting.upstream-options")
def test_what_keeps_large_payloads_here_is_printed_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    app_of().configure_large_payloads(payload_store=object())

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("configure_large_payloads does nothing here: ")


WRITTEN = (GOLDEN / "2.0.0-refused.json").read_text(encoding="utf-8")
"""By its schema: results and receipts beside a history that 1.x could have too, and a time to live that is over."""

PLACE = "@dafx-joker@t"
REFUSED = (500, "unreadable_state")
SENTENCE = "schemaVersion 2.0.0 cannot be read"

Started = tuple[DirectHost, httpx.AsyncClient]


@pytest.fixture
async def started() -> AsyncIterator[Started]:
    """An app whose agent's threads have a time to live, and the thread in its task hub."""
    app = app_of(environ={"AGENT_LOG": "memory"})
    app.add_agent(scripted_agent("Joker"), ttl_seconds=60)
    async with served(app) as (host, http):
        host.entities.states[PLACE] = WRITTEN
        yield host, http


@pytest.mark.behaviour("state.schema-2")
async def test_a_run_is_refused_by_name_and_the_agent_is_not_asked(started: Started) -> None:
    host, http = started

    answer = await ask(http, "hi", thread_id="t", busy="interrupt")
    await host.entities.idle()

    assert (answer.status_code, answer.json()["code"], SENTENCE in answer.json()["detail"]) == (*REFUSED, True)
    assert host.entities.states[PLACE] == WRITTEN


@pytest.mark.behaviour("state.schema-2")
async def test_a_run_that_nobody_waits_for_ends_by_that_name(started: Started) -> None:
    host, http = started

    accepted = await ask(http, "hi", thread_id="t", wait_for_response=False)
    await host.entities.idle()
    ended = (await http.get(accepted.headers["location"])).json()

    assert (ended["status"], ended["error"]["code"]) == ("failed", "unreadable_state")
    assert host.entities.states[PLACE] == WRITTEN


OPERATIONS: dict[str, Any] = {
    "run": {"message": "hi", "correlationId": "r-3"},
    "run_agent": {"message": "hi", "correlationId": "r-3"},
    "migrate": {"source": {"schemaVersion": "1.1.0", "data": {"conversationHistory": []}}, "migrationId": "m"},
    "expire": None,
    "store": None,
    "checkanddeleteifexpired": None,
}


@pytest.mark.behaviour("state.schema-2")
async def test_no_operation_of_its_entity_changes_it(started: Started) -> None:
    """Neither theirs nor ours, also the one that ends a thread whose time is over."""
    host, _ = started

    for operation, value in OPERATIONS.items():
        await host.entities.call("dafx-joker", "t", operation, value, is_signal=True)
        await host.entities.idle()
        assert host.entities.states == {PLACE: WRITTEN}, operation
