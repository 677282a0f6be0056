"""What an app in production may not be, through its constructor."""

import json
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from agents.assistant import create_assistant
from hosting.app import AgentFunctionApp
from hosting.errors import ConfigurationError
from hosting.offline.model import OfflineChatClient
from hosting.settings import is_production
from tests.support.app.scripted import scripted_agent

NAMED = "AZURE_FUNCTIONS_ENVIRONMENT"
STORAGE = {"AzureWebJobsStorage": "UseDevelopmentStorage=true"}
PRODUCTION = {NAMED: "Production", **STORAGE}
DEVELOPMENT = {NAMED: "Development", **STORAGE}
OPEN_MCP = {"mcp": {"system": {"webhookAuthorizationLevel": "Anonymous"}}}
REFUSES_OLDER = {"durableTask": {"storageProvider": {"useInstanceTableEtag": True}}}
PROVIDER = "AzureFunctionsJobHost__extensions__durableTask__storageProvider"
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


@pytest.mark.behaviour("azure.refuses-older-documents")
@pytest.mark.parametrize(
    ("provider", "environ"),
    [
        ({"useInstanceTableEtag": True}, PRODUCTION),
        ({}, {**PRODUCTION, f"{PROVIDER}__useInstanceTableEtag": "True"}),
        ({}, {**PRODUCTION, f"{PROVIDER}__type": "azureManaged"}),
        ({"type": "azureManaged"}, PRODUCTION),
        ({}, DEVELOPMENT),
        ({}, {}),
    ],
)
def test_an_app_whose_engine_refuses_older_documents_starts(
    provider: dict[str, object], environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the file, by a setting over it, with the scheduler, which knows no such line, and on a laptop."""
    stand_in_app_of({"durableTask": {"storageProvider": provider}}, tmp_path, monkeypatch)

    app = AgentFunctionApp(agents=[scripted_agent("one")], environ=environ)

    assert list(app.agents) == ["one"]
