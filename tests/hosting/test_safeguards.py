"""What an app may not be: in production, by options of its agents, and by settings that the worker lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from agents.assistant import create_assistant
from hosting.app import AgentFunctionApp
from hosting.assembly import SETTINGS
from hosting.errors import ConfigurationError
from hosting.host_settings import WORKER_SETTINGS
from hosting.offline.model import OfflineChatClient
from hosting.options import AgentOptions
from hosting.settings import is_production, report_unknown
from tests.support.app.scripted import scripted_agent
from tests.support.running_host import RunningHost

NAMED = "AZURE_FUNCTIONS_ENVIRONMENT"
STORAGE = {"AzureWebJobsStorage": "UseDevelopmentStorage=true"}
PRODUCTION = {NAMED: "Production", **STORAGE}
OPEN_MCP = {"mcp": {"system": {"webhookAuthorizationLevel": "Anonymous"}}}
REFUSES_OLDER = {"durableTask": {"storageProvider": {"useInstanceTableEtag": True}}}
ANONYMOUS = (
    "is Anonymous: anyone who finds the app may use its agents and read their threads. Ask for keys, or set "
    "AGENT_ANONYMOUS to 'allow' if you want this."
)


def open_tool(environ: dict[str, str], folder: Path, patch: pytest.MonkeyPatch) -> AgentFunctionApp:
    """An app whose agent is an MCP tool, at an endpoint that host.json leaves open."""
    stand_in_app_of({**OPEN_MCP, **REFUSES_OLDER}, folder, patch)
    return AgentFunctionApp(agents=[scripted_agent("one")], enable_mcp_tool_trigger=True, environ=environ)


def stand_in_app_of(extensions: dict[str, Any], folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Go to a folder whose host.json has these extensions."""
    host = {"version": "2.0", "extensions": extensions}
    (folder / "host.json").write_text(json.dumps(host), encoding="utf-8")
    patch.chdir(folder)


@pytest.mark.behaviour("azure.which-is-production")
@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({NAMED: "Production"}, True),
        ({NAMED: "Staging"}, True),
        ({NAMED: "Development"}, False),
        ({NAMED: " development "}, False),
        ({NAMED: "Development", "WEBSITE_SITE_NAME": "agents"}, False),
        ({"WEBSITE_SITE_NAME": "agents"}, True),
        ({"WEBSITE_INSTANCE_ID": "0123"}, True),
        ({NAMED: "", "AzureWebJobsScriptRoot": "/home/site/wwwroot"}, True),
        ({"FUNCTIONS_WORKER_RUNTIME": "python"}, False),
        ({}, False),
    ],
)
def test_production_is_every_environment_but_development(environ: dict[str, str], expected: bool) -> None:
    """On Azure, and in the host's container images, it has no name at all; the variables of hosts show it."""
    assert is_production(environ) is expected


@pytest.mark.behaviour("azure.refuses-laptop-parts")
def test_the_offline_model_is_refused_in_production() -> None:
    """The sentence names the agent, the model and the settings of real ones."""
    with pytest.raises(ConfigurationError) as refused:
        AgentFunctionApp(agents=[create_assistant(OfflineChatClient())], environ=PRODUCTION)

    assert refused.value.detail == (
        "Agent 'assistant' uses OfflineChatClient, which is not for production. "
        "Choose a model by AZURE_OPENAI_ENDPOINT, OPENAI_BASE_URL or OPENAI_API_KEY: docs/guides/models.md."
    )


@pytest.mark.behaviour("azure.refuses-laptop-parts")
@pytest.mark.parametrize("level", [func.AuthLevel.ANONYMOUS, "ANONYMOUS"])
def test_routes_without_a_key_are_refused_in_production(level: Any) -> None:
    """Left from a laptop, they would let anybody in."""
    with pytest.raises(ConfigurationError) as refused:
        AgentFunctionApp(agents=[scripted_agent("one")], http_auth_level=level, environ=PRODUCTION)

    assert refused.value.detail == f"http_auth_level of AgentFunctionApp {ANONYMOUS}"


@pytest.mark.behaviour("azure.refuses-laptop-parts")
def test_tools_without_a_key_are_refused_in_production(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """host.json opens the MCP endpoint to everybody; the agents behind it are the same."""
    with pytest.raises(ConfigurationError) as refused:
        open_tool(PRODUCTION, tmp_path, monkeypatch)

    assert refused.value.detail == f"extensions.mcp.system.webhookAuthorizationLevel in host.json {ANONYMOUS}"


@pytest.mark.behaviour("azure.refuses-older-documents")
@pytest.mark.parametrize(
    "provider", [{}, {"type": "AzureStorage"}, {"type": "azurestorage", "useInstanceTableEtag": False}]
)
def test_an_app_whose_engine_would_keep_an_older_document_is_refused_in_production(
    provider: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host.json from before the template had the line, or of a user's own."""
    stand_in_app_of({"durableTask": {"storageProvider": provider}}, tmp_path, monkeypatch)

    with pytest.raises(ConfigurationError) as refused:
        AgentFunctionApp(agents=[scripted_agent("one")], environ=PRODUCTION)

    assert refused.value.detail == (
        "extensions.durableTask.storageProvider.useInstanceTableEtag in host.json is not true: a worker that was taken "
        "for dead could replace a thread's newer conversation by its older one. Set it to true, as the template's "
        "host.json has it."
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mcp": False, "tool_name": "joke"}, "mcp_tool_name is given for agent 'Joker', which is not an MCP tool"),
        ({"tool_description": "Jokes."}, "mcp_tool_description is given for agent 'Joker', which is not an MCP tool"),
        ({"mcp": True, "tool_name": "a joke"}, "mcp_tool_name 'a joke' of agent 'Joker' cannot be a tool's name"),
        ({"mcp": True, "tool_description": " "}, "mcp_tool_description of agent 'Joker' is blank"),
        ({"busy": None}, "busy of agent 'Joker' is 'None'"),
        ({"ttl_seconds": -1}, "ttl_seconds of agent 'Joker' is -1"),
    ],
)
def test_options_that_no_agent_can_have_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        AgentOptions(**options).check("Joker")


HOSTED = {"WEBSITE_SITE_NAME": "agents"}
ALONE = {"AzureWebJobsScriptRoot": "app", "AZURE_FUNCTIONS_ENVIRONMENT": "Development"}
GIVEN = {setting.name: setting.value for setting in WORKER_SETTINGS}
SOURCE = "from hosting.app import AgentFunctionApp\n\napp = AgentFunctionApp()\n"


@pytest.mark.behaviour("azure.names-missing-worker-settings")
def test_the_line_says_what_does_not_work_and_the_app_starts(capsys: pytest.CaptureFixture[str]) -> None:
    """A warning, not a refusal: a worker of another make may do without."""
    lacking = {name: value for name, value in GIVEN.items() if name != "PYTHON_THREADPOOL_THREAD_COUNT"}
    AgentFunctionApp(environ={"AzureWebJobsStorage": "UseDevelopmentStorage=true", **HOSTED, **lacking})

    assert capsys.readouterr().err == (
        "Set the app setting PYTHON_THREADPOOL_THREAD_COUNT to 32: without it orchestrators and your own synchronous "
        "functions share a handful of threads. See docs/reference/deployment.md.\n"
    )


@pytest.mark.behaviour("hosting.misspelt-settings-named")
@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("AGENT_RUNLOG", "AGENT_LOG"),
        ("AGENT_WAIT_SECOND", "AGENT_WAIT_SECONDS"),
        ("agent_archive", "AGENT_ARCHIVE"),
        ("AGENT_MAX_BODY", "AGENT_MAX_BODY_BYTES"),
        ("AGENT_SCHEDULE", "AGENT_SCHEDULES"),
        ("AGENT_WEBHOOK_SECRETS", "AGENT_WEBHOOK_SECRET"),
    ],
)
def test_a_misspelt_setting_is_named_with_the_nearest_known_one(
    name: str, nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report_unknown({**ALONE, name: "x", "AGENT_QUEUE_LIMIT": "3", "AGENTS_TEST_URL": "y"}, SETTINGS)

    assert capsys.readouterr().err == (
        f"There is no setting {name}, so it does nothing. Is {nearest} meant? See docs/reference/settings.md.\n"
    )


@pytest.mark.slow
@pytest.mark.behaviour("hosting.misspelt-settings-named")
def test_a_misspelt_setting_of_local_settings_is_named_when_the_local_host_starts(tmp_path: Path) -> None:
    """As is one of the environment: the host puts the file's there."""
    (tmp_path / "host.json").write_text('{"version": "2.0"}', encoding="utf-8")
    (tmp_path / "local.settings.json").write_text('{"Values": {"AGENT_LOGS": "memory"}}', encoding="utf-8")
    (tmp_path / "function_app.py").write_text(SOURCE, encoding="utf-8")
    with RunningHost(tmp_path) as host:
        printed = "\n".join(host.printed)

    assert "There is no setting AGENT_LOGS, so it does nothing. Is AGENT_LOG meant?" in printed
