"""`AgentFunctionApp`: what it registers, and what it refuses at start-up by a sentence that says how to mend it."""

from pathlib import Path
from typing import Any, cast

import azure.functions as func
import httpx
import pytest
from agent_framework import Agent

from hosting.assembly import SETTINGS
from hosting.errors import ConfigurationError
from hosting.settings import AllSettings, meaning_of, names_of
from tests.support.app.scripted import ScriptedClient, scripted_agent
from tests.support.direct import DirectHost
from tests.support.made_app import MEMORY, app_of, triggers


@pytest.mark.behaviour("hosting.registers")
def test_each_agent_gets_an_entity_and_the_doors_that_were_asked_for() -> None:
    """HTTP by default, MCP on demand, one agent's choice over the app's."""
    app = app_of(scripted_agent("one"), enable_mcp_tool_trigger=True)
    app.add_agent(scripted_agent("two"), enable_http_endpoint=False, enable_mcp_tool_trigger=False)

    assert {name: trigger["type"] for name, trigger in triggers(app).items() if name.endswith(("-one", "-two"))} == {
        "dafx-one": "entityTrigger",
        "http-one": "httpTrigger",
        "mcptool-one": "mcpToolTrigger",
        "dafx-two": "entityTrigger",
    }


@pytest.mark.behaviour("hosting.registers")
def test_routes_ask_for_the_level_that_the_app_was_given_and_health_and_the_page_for_none() -> None:
    """Function level unless chosen."""
    app = app_of(scripted_agent("one"), http_auth_level=func.AuthLevel.ADMIN)
    levels = {name: trigger["authLevel"] for name, trigger in triggers(app).items() if "authLevel" in trigger}
    open_to_all = {name for name, level in levels.items() if level == "ANONYMOUS"}

    assert {"http-one", "z_unknown_agent"} <= levels.keys()
    assert open_to_all == {"health_check", "health_ready", "http_page"}
    assert {level for name, level in levels.items() if name not in open_to_all} == {"ADMIN"}


class NotRunning:
    """Something with a name that cannot run."""

    name = "idle"


@pytest.mark.behaviour("hosting.refusals-at-start-up")
@pytest.mark.parametrize(
    ("agents", "sentence"),
    [
        ([Agent(ScriptedClient())], "An agent has no name. Give each agent a name: Agent(..., name='assistant')."),
        (
            [scripted_agent("Weather  Agent")],
            "Agent name 'Weather  Agent' cannot be a function's name. "
            "Begin with a letter and use letters, digits, '_', '-' and single blanks.",
        ),
        (
            [scripted_agent("a\n")],
            "Agent name 'a\\n' cannot be a function's name. "
            "Begin with a letter and use letters, digits, '_', '-' and single blanks.",
        ),
        (
            [scripted_agent("a" * 62)],
            f"Agent name '{'a' * 62}' has 62 characters; the engine leaves room for 61. Shorten it.",
        ),
        (
            [scripted_agent("Weather Agent"), scripted_agent("weather_agent")],
            "Two agents are named 'Weather Agent' and 'weather_agent'; names are compared without case, "
            "a blank like '_'. Rename one.",
        ),
        (
            [NotRunning()],
            "'idle' (NotRunning) is not an agent: it has no run(). Give an agent-framework Agent.",
        ),
    ],
)
def test_an_agent_that_cannot_be_hosted_is_refused(agents: list[Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        app_of(*agents)

    assert refused.value.detail == sentence


@pytest.mark.behaviour("hosting.refusals-at-start-up")
@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("workflow", "A object is neither a Workflow nor a function that builds one. Give workflows=[build_review]."),
        ("workflows", "workflows takes a list of workflows, or of functions that build them."),
        (
            "htp_auth_level",
            "AgentFunctionApp has no option 'htp_auth_level'. See docs/reference/hosting.md for its options.",
        ),
    ],
)
def test_an_option_that_is_not_served_is_refused(option: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        app_of(**{option: object()})

    assert refused.value.detail == sentence


@pytest.mark.behaviour("hosting.refusals-at-start-up")
@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("entity_id", "An agent's entity is 'dafx-<agent name>' and cannot be named. Leave entity_id out."),
        ("workflow_name", "A workflow has its own name: WorkflowBuilder(name=...). Leave workflow_name out."),
        ("mcp", "add_agent has no option 'mcp'. See docs/reference/hosting.md for its options."),
    ],
)
def test_an_agents_option_that_is_not_served_is_refused(option: str, sentence: str) -> None:
    app, unserved = app_of(), cast(dict[str, Any], {option: object()})

    with pytest.raises(ConfigurationError) as refused:
        app.add_agent(scripted_agent("one"), **unserved)

    assert refused.value.detail == sentence
    assert app.agents == {}


@pytest.mark.behaviour("hosting.refusals-at-start-up")
@pytest.mark.parametrize("given", ["wait", ["reject"]])
def test_a_busy_policy_that_is_none_is_refused(given: Any) -> None:
    app = app_of()

    with pytest.raises(ConfigurationError, match=r"busy of agent 'one' is .*\. Give one of 'queue', 'reject'"):
        app.add_agent(scripted_agent("one"), busy=given)

    assert app.agents == {}


@pytest.mark.parametrize(("retries", "interval"), [(221, 1.0), (None, 8.0), (-1, 1.0)], ids=["221", "30x8", "-1"])
def test_a_longest_wait_that_the_platform_would_cut_is_refused(retries: int | None, interval: float | None) -> None:
    """The two polling numbers of the other class mean the longest wait."""
    with pytest.raises(ConfigurationError, match=r"max_poll_retries \* poll_interval_seconds is .* must be 0 to 220"):
        app_of(max_poll_retries=retries, poll_interval_seconds=interval)


async def test_the_polling_numbers_are_the_longest_wait() -> None:
    host = DirectHost(app_of(scripted_agent("one"), max_poll_retries=1, poll_interval_seconds=0.05))
    async with client_of(host) as client:
        answer = await client.post("/api/agents/one/run", json={"message": "sleep 0.2"})

    assert answer.status_code == 202


def client_of(host: DirectHost) -> httpx.AsyncClient:
    """Return a client of an app that is called directly."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(host.asgi), base_url="http://app.example")


WRONG_SETTINGS = [
    ("AGENT_ADMIN_ROLE", "the boss"),
    ("AGENT_ANONYMOUS", "yes"),
    ("AGENT_ARCHIVE", "sqlite:"),
    ("AGENT_ATTACHMENT_BYTES", "1023"),
    ("AGENT_ATTACHMENTS", "redis://here"),
    ("AGENT_CONTEXT_TOKENS", "999"),
    ("AGENT_COSMOS", "account"),
    ("AGENT_COSMOS_DATABASE", "a/b"),
    ("AGENT_LOG", "blob"),
    ("AGENT_LOG", "sqlite:"),
    ("AGENT_LOG_SYNCHRONOUS", "OFF"),
    ("AGENT_WAIT_SECONDS", "221"),
    ("AGENT_WAIT_SECONDS", "nan"),
    ("AGENT_RUN_TIMEOUT_SECONDS", "0"),
    ("AGENT_RUN_TIMEOUT_SECONDS", "inf"),
    ("AGENT_ATTEMPT_SECONDS", "-1"),
    ("AGENT_QUEUE_LIMIT", "0"),
    ("AGENT_INSTRUCTIONS_FOR", "everybody"),
    ("AGENT_INTERRUPTED_TOOLS", "retry"),
    ("AGENT_STREAM_BATCH_SECONDS", "-1"),
    ("AGENT_STREAM_BATCH_CHARACTERS", "0"),
    ("AGENT_QUEUE_TIMEOUT_SECONDS", "604801"),
    ("AGENT_RECENT_BYTES", "2047"),
    ("AGENT_MAX_BODY_BYTES", "1.5"),
    ("AGENT_MAX_DATA_BYTES", "1023"),
    ("AGENT_FILE_BYTES", "1023"),
    ("AGENT_FILE_HOSTS", "https://example.com"),
    ("AGENT_FILE_INDEX", "search"),
    ("AGENT_FILES_QUOTA_BYTES", "1023"),
    ("AGENT_MODEL_INPUTS", "image/*;audio/wav"),
    ("AGENT_CALLER_ROLES", "tool"),
    ("AGENT_MESSAGE_TYPES", "number"),
    ("AGENT_MCP_THREAD_IN_TEXT", "perhaps"),
    ("AGENT_STATE_LIMIT_BYTES", "4095"),
    ("AGENT_BATCH_RUNS", "0"),
    ("AGENT_BATCH_RUNS", "101"),
    ("AGENT_SCHEDULES", "201"),
    ("AGENT_SWEEP_SCHEDULE", "every day"),
    ("AGENT_LOG_DAYS", "0.5"),
    ("AGENT_RECEIPT_DAYS", "6"),
    ("AGENT_THREAD_TTL_SECONDS", "-1"),
    ("AGENT_APPROVAL_SECONDS", "-1"),
    ("AGENT_BLOCKED_SECONDS", "0"),
    ("AGENT_CALLBACK_SECONDS", "301"),
    ("AGENT_TOOL_THREADS", "0"),
    ("AGENT_WEBHOOK_HOSTS", "http://localhost"),
    ("AGENT_WEBHOOK_SECRET", "whsec_c2hvcnQ="),
]


HIDDEN = {"AGENT_WEBHOOK_SECRET", "AGENT_FILE_INDEX"}
"""What may hold a key."""


@pytest.mark.behaviour("hosting.settings-refused")
def test_a_wrong_setting_is_refused_with_its_name_its_value_and_its_meaning() -> None:
    """At start-up, not at the first request. A new setting comes with a wrong value here."""
    with pytest.raises(ConfigurationError):
        app_of(environ=dict([WRONG_SETTINGS[0]]))
    for name, value in WRONG_SETTINGS:
        with pytest.raises(ConfigurationError) as refused:
            AllSettings({name: value}, SETTINGS)
        shown = "a secret" if name in HIDDEN else repr(value)
        assert refused.value.detail.startswith(f"Setting {name} is {shown}: ")
        expected = meaning(name)
        assert refused.value.detail.endswith(expected)
        assert expected.endswith(".")

    assert {name for name, _ in WRONG_SETTINGS} == set(names_of(SETTINGS))


def meaning(name: str) -> str:
    return next(meaning_of(part, name.removeprefix("AGENT_").lower()) for part in SETTINGS if name in names_of([part]))


def test_no_message_shows_a_secret() -> None:
    secret = "whsec_" + "c2VjcmV0" * 5
    with pytest.raises(ConfigurationError) as refused:
        app_of(environ={**MEMORY, "AGENT_WEBHOOK_SECRET": f"{secret}!"})
    settings = AllSettings({"AGENT_WEBHOOK_SECRET": secret}, SETTINGS)

    assert "c2VjcmV0" not in refused.value.detail
    assert [part for part in SETTINGS if "c2VjcmV0" in repr(settings.of(part))] == []


@pytest.mark.slow
@pytest.mark.behaviour("turn.log-down")
async def test_with_the_log_away_a_request_is_answered_503_and_nothing_is_started(tmp_path: Path) -> None:
    """A folder stands in the file's place."""
    host = DirectHost(app_of(scripted_agent("one"), environ={"AGENT_LOG": f"sqlite:{tmp_path}"}))
    async with client_of(host) as client:
        answer = await client.post("/api/agents/one/run", json={"message": "hi"})

    assert (answer.status_code, answer.json()["code"]) == (503, "log_unavailable")
    assert host.entities.states == {}
    assert str(tmp_path) not in answer.text
