"""An app that was written for the next version of `agent-framework-azurefunctions`: its options, and its methods."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.errors import ConfigurationError
from hosting.upstream import AGENT_OPTIONS, APP_OPTIONS, WORKFLOW_OPTIONS
from tests.support.app.scripted import scripted_agent
from tests.support.flows import order_flow, text_flow
from tests.support.made_app import app_of, ask, served

pytestmark = pytest.mark.behaviour("hosting.upstream-options")

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


@pytest.mark.parametrize("where", IDLE)
def test_what_is_so_anyway_is_taken_in_silence(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    given(where, {**dict.fromkeys(IDLE[where]), "retention": "keep_all"})

    assert capsys.readouterr().err == ""


OF_NO_THREAD: dict[str, list[Any]] = {
    "deployment_mode": ["", "isolated_v3", "ISOLATED_V2", 2, True, ["isolated_v2"]],
    "retention": ["", "auto", "invalid", 1, ["keep_all"]],
    "max_state_bytes": [0, -1, True, 1.5, "8192", "backend_limit"],
    "high_watermark": [0, 1.1, True, "0.9", float("nan"), float("inf")],
    "low_watermark": [0, -0.1, True, float("nan"), float("-inf"), []],
    "response_delivery_window_seconds": [0, -1, True, 1.5, "60", float("nan"), object()],
}
WRONG = [
    (where, name, value)
    for where, names in {**IDLE, "AgentFunctionApp": APP_OPTIONS}.items()
    for name in sorted(names)
    for value in OF_NO_THREAD[name.removeprefix("workflow_")]
] + [("AgentFunctionApp", "max_state_bytes", bytes_) for bytes_ in (4095, 10**9 + 1)]


def test_a_value_that_is_none_of_its_options_is_refused() -> None:
    """As an option of the app, of its workflows, of an agent and of a workflow; with its name and the values."""
    for where, name, value in WRONG:
        with pytest.raises(ConfigurationError, match=rf"^{name} .*is .*must be "):
            given(where, {name: value})


@pytest.mark.parametrize("where", IDLE)
@pytest.mark.parametrize(("low", "high"), [(0.7, 0.7), (1, 0.5)])
def test_a_low_watermark_that_is_not_below_the_high_one_is_refused(where: str, low: float, high: float) -> None:
    with pytest.raises(ConfigurationError, match=rf"^low_watermark of {where} is {low}: it must be below "):
        given(where, {"low_watermark": low, "high_watermark": high})


def test_those_of_workflows_are_compared_with_each_other() -> None:
    app_of(low_watermark=0.6, workflow_high_watermark=0.5)

    with pytest.raises(ConfigurationError, match=r"^workflow_low_watermark of AgentFunctionApp is 0\.5"):
        app_of(workflow_low_watermark=0.5, workflow_high_watermark=0.5)


async def test_the_most_bytes_of_a_state_are_the_limit_of_each_thread() -> None:
    environ = {"AGENT_LOG": "memory", "AGENT_STATE_LIMIT_BYTES": "9000"}
    async with served(app_of(scripted_agent("Joker"), environ=environ, max_state_bytes=800_000)) as (_, http):
        await ask(http, "hi", thread_id="t")
        thread = await http.get("/api/agents/Joker/threads/t")

    assert thread.json()["limit_bytes"] == 800_000


@pytest.mark.parametrize("others", [[], [order_flow]], ids=["the only one", "one of two"])
async def test_a_workflow_that_is_configured_later_has_all_routes(others: list[Any]) -> None:
    """Its own, those that all workflows share, and those by the names of the other package."""
    app = app_of(workflows=others)
    app.configure_workflow(text_flow)
    async with served(app) as (_, http):
        answer = await http.post("/api/workflows/Text/run", json={"message": "abc"})
        listed = (await http.get("/api/workflows")).json()["workflows"]
        theirs = await http.post("/api/workflow/Text/run", json="abc", params={"waitForResponse": "true"})
        only = await http.post("/api/workflow/run", json="abc", params={"waitForResponse": "true"})

    assert (answer.status_code, answer.json()["response"]) == (200, "CBA")
    assert "Text" in [workflow["name"] for workflow in listed]
    assert (theirs.status_code, only.status_code) == (200, 404 if others else 200)


def test_what_keeps_large_payloads_here_is_printed_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    app_of().configure_large_payloads(payload_store=object())

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("configure_large_payloads does nothing here: ")
