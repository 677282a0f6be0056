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
from hosting.host_settings import WORKER_SETTINGS, app_folder, function_timeout_seconds, route_prefix, task_hub
from hosting.offline.model import OfflineChatClient
from hosting.options import AgentOptions
from hosting.settings import is_production, report_unknown
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of
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
        ("agent_archive", "AGENT_ARCHIVE"),
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


HUB = "AzureFunctionsJobHost__extensions__durableTask__hubName"
TIMEOUT = "AzureFunctionsJobHost__functionTimeout"


def folder_with(folder: Path, **host: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "host.json").write_text(json.dumps({"version": "2.0", **host}), encoding="utf-8")
    return folder


def folder_of_hub(folder: Path, hub: object) -> Path:
    """Return the folder whose host.json names the hub; None names none."""
    return folder_with(folder, extensions={"durableTask": {} if hub is None else {"hubName": hub}})


@pytest.mark.behaviour("log.apart")
@pytest.mark.parametrize(
    ("named", "environ", "hub"),
    [
        ("AgentHub", {HUB: "agents"}, "agents"),
        ("%STAGE%hub", {"STAGE": "Blue"}, "bluehub"),
        ("%HUB%", {HUB: "%OTHER%", "HUB": "one", "OTHER": "two"}, "two"),
        (None, {}, "testhubname"),
        (None, {"WEBSITE_SITE_NAME": "1-up"}, "t1up"),
        (None, {"WEBSITE_SITE_NAME": "a-1"}, "a1hub"),
        (None, {"WEBSITE_SITE_NAME": "x-" * 40}, "x" * 40),
        (None, {"WEBSITE_SITE_NAME": "x" * 60}, "x" * 45),
    ],
)
def test_the_task_hub_is_the_one_that_the_engine_uses(
    named: str | None, environ: dict[str, str], hub: str, tmp_path: Path
) -> None:
    """host.json's, or the app setting's that overrides it; else the site's name, as far as a hub may have it."""
    assert task_hub(folder_of_hub(tmp_path, named), environ) == hub


@pytest.mark.behaviour("log.apart")
@pytest.mark.parametrize(
    "named", ["", "a", "ab", "1hub", "a-b", "a/b", "a}b", "ä23", "x" * 46, 5, "%MISSING%", "%MISSING%hub", "hub\n"]
)
def test_a_task_hub_that_the_engine_would_not_take_is_refused(named: object, tmp_path: Path) -> None:
    """With the value and what it must be; a variable that is not set stays as it is."""
    with pytest.raises(ConfigurationError) as refused:
        task_hub(folder_of_hub(tmp_path, named), {})

    sentence = f"extensions.durableTask.hubName of host.json is {named!r}: it must be 3 to 45"
    assert refused.value.detail.startswith(sentence)


@pytest.mark.parametrize(
    ("host", "environ", "seconds"),
    [
        ({}, {}, 1800),
        ({"functionTimeout": "00:10:00"}, {}, 600),
        ({"functionTimeout": "1.00:00:01"}, {}, 86_401),
        ({"functionTimeout": "-1"}, {}, None),
        ({"functionTimeout": "00:10:00"}, {TIMEOUT: "01:00:00"}, 3600),
        ({"functionTimeout": "00:10:00"}, {TIMEOUT: "-1"}, None),
    ],
)
def test_the_platform_s_limit_is_the_override_else_host_json_else_the_flex_plan_s(
    host: dict[str, Any], environ: dict[str, str], seconds: float | None, tmp_path: Path
) -> None:
    assert function_timeout_seconds(folder_with(tmp_path, **host), environ) == seconds


@pytest.mark.behaviour("hosting.moves-over")
def test_the_route_prefix_is_that_of_the_script_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the worker was started elsewhere; the folder at work comes first if it has a host.json itself."""
    here = folder_with(tmp_path / "here", extensions={"http": {"routePrefix": "v2"}})
    root = folder_with(tmp_path / "wwwroot", extensions={"http": {"routePrefix": "v1"}})
    environs = [{"AzureWebJobsScriptRoot": named} for named in (str(root), "", "nowhere")]
    monkeypatch.chdir(tmp_path)
    assert route_prefix(app_folder(environs[0]), environs[0]) == "v1"
    monkeypatch.chdir(here)
    assert [route_prefix(app_folder(environ), environ) for environ in environs] == ["v2"] * 3

    (root / "host.json").write_text("{", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"host\.json is not JSON"):
        app_of(scripted_agent("Joker"), environ=environs[0])
