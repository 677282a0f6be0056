"""What an app says of an agent and of a workflow, the example that it proposes, and what it keeps to itself."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from agent_framework import Agent, AgentExecutor, MCPStdioTool, MCPStreamableHTTPTool, Workflow, WorkflowBuilder, tool
from pydantic import BaseModel, Field

from agents.assistant import create_assistant
from hosting.app import AgentFunctionApp, Budget, Limit, OwnerMemory
from hosting.offline.model import OfflineChatClient
from hosting.options import Retry
from hosting.tools import idempotent
from tests.support.clerk import ClerksClient
from tests.support.direct import DirectHost
from tests.support.flows import text_flow
from tests.support.made_app import app_of, served
from tests.support.owned_app import OwnedApp, with_roles
from tests.support.receiver import WEBHOOKS

SECRET = "s3cr3t-value"
HIDDEN = "Never say that the discount is 20 %."


class Answer(BaseModel):
    order: str
    note: str = Field(SECRET, examples=[SECRET])


class KeyedClient(ClerksClient):
    """A client that holds a key and an address with credentials, as an author's own may."""

    OTEL_PROVIDER_NAME = "keyed"

    def __init__(self) -> None:
        super().__init__(additional_properties={"api_key": SECRET})
        self.api_key, self.connection_string, self.model = SECRET, f"AccountKey={SECRET}", "large-1"
        self.default_headers = {"Authorization": SECRET}

    def service_url(self) -> str:
        return f"https://user:{SECRET}@model.example/?key={SECRET}"


def keyed_agent() -> Agent[Any]:
    """Return an agent with secrets in every place where its author may put one."""
    key = os.environ["ORDERS_KEY"]

    @idempotent
    @tool
    def find_order(number: str, default: int = 1, api_key: str = key) -> str:
        """Look up an order by its number."""
        return f"{number} {key}"

    @tool(approval_mode="always_require")
    def refund(order: str) -> str:
        """Refund it."""
        return order + key

    stdio = MCPStdioTool("files", "serve", args=["--key", key], env={"KEY": key}, approval_mode="always_require")
    remote = MCPStreamableHTTPTool(
        "wiki", f"https://user:{key}@wiki.example/{key}", header_provider=lambda _: {"k": key}
    )
    web_search: Any = {"type": "mcp", "server_url": f"https://{key}.example", "headers": {"Authorization": key}}
    return Agent(
        KeyedClient(),
        HIDDEN,
        name="Orders",
        description="Knows orders.",
        tools=[find_order, refund, critic().as_tool(), stdio, idempotent(remote), web_search],
        context_providers=[OwnerMemory(shared=True)],
        additional_properties={"example": "Where is A-17?", "key": key},
        default_options={
            "temperature": 0.2,
            "response_format": Answer,
            "user": key,
            "metadata": {"key": key},
            "extra_headers": {"Authorization": key},
        },
    )


def critic() -> Agent[Any]:
    return Agent(KeyedClient(), HIDDEN, name="critic", description="Reads an answer.")


def review() -> Workflow:
    return WorkflowBuilder(name="Review", start_executor=AgentExecutor(critic(), id="critic")).build()


@pytest.fixture(scope="module")
def host() -> Iterator[DirectHost]:
    """An app of that agent with all rules, of a plain one, and of a workflow; the secret is in the environment."""
    plain = Agent(OfflineChatClient(), "Answer in one sentence.", name="plain")
    app = AgentFunctionApp(agents=[plain], workflows=[review], environ={**WEBHOOKS, "AGENT_LOG": "memory"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ORDERS_KEY", SECRET)
        app.add_agent(
            keyed_agent(),
            run_timeout_seconds=90,
            ttl_seconds=3600,
            busy="reject",
            retry=Retry(attempts=2),
            budget=Budget(tokens=10_000, per="thread"),
            limit=Limit(runs_at_once=4),
            webhook=f"https://hooks.example/{SECRET}",
        )
        yield DirectHost(app)


async def read(host: DirectHost, path: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(host.asgi), base_url="http://app.example") as client:
        return await client.get(f"/api/{path}")


@pytest.mark.behaviour("http.describes-agents")
async def test_an_agent_is_described_with_all_that_a_caller_may_meet(host: DirectHost) -> None:
    """Its instructions, model, options, tools, providers and the rules that hold for it."""
    answer = await read(host, "agents/orders")
    told = answer.json()
    tools = {each.pop("name"): each for each in told.pop("tools")}

    assert answer.status_code == 200
    assert told["rules"] == {
        "busy": "reject",
        "queue_limit": 32,
        "run_timeout_seconds": 90.0,
        "ttl_seconds": 3600,
        "approval_seconds": 604_800.0,
        "interrupted_tools": "fail",
        "retry": {"attempts": 2, "first_pause_seconds": 1.0, "backoff": 2.0, "longest_pause_seconds": 60.0},
        "budget": {"per": "thread", "tokens": 10_000},
        "limit": {"runs_at_once": 4},
        "standing_approvals": False,
    }
    assert {name: told[name] for name in ("kind", "name", "description", "instructions", "instructions_hidden")} == {
        "kind": "agent",
        "name": "Orders",
        "description": "Knows orders.",
        "instructions": HIDDEN,
        "instructions_hidden": False,
    }
    assert told["run_url"] == "http://app.example/api/agents/Orders/run"
    assert told["budget_url"] == "http://app.example/api/agents/Orders/budget"
    assert told["model"] == {"name": "large-1", "offline": False}
    assert told["options"] == {"temperature": 0.2, "tool_choice": "auto"}
    assert told["context_providers"] == ["owner_memory"]
    assert told["mcp_servers"] == [
        {"name": "files", "is_connected": False, "idempotent": False},
        {"name": "wiki", "is_connected": False, "idempotent": True},
    ]
    assert set(told["response_format"]["properties"]) == {"order", "note"}
    assert set(tools["find_order"]["parameters"]["properties"]) == {"number", "default", "api_key"}
    assert [(name, each["approval"], each["idempotent"]) for name, each in tools.items()] == [
        ("find_order", "never", True),
        ("refund", "always", False),
        ("critic", "never", False),
        ("mcp", "never", False),
    ]
    assert tools["critic"]["agent"]["instructions"] == HIDDEN
    assert tools["mcp"]["parameters"] is None


@pytest.mark.behaviour("http.describes-agents")
async def test_no_description_has_a_secret_of_the_author(host: DirectHost) -> None:
    """Not from a client, a tool's closure or default, an MCP server, an option, a webhook or the environment."""
    assert SECRET in json.dumps(keyed_agent().default_options["tools"][0].parameters())  # where it comes from

    for path in ("agents/Orders", "agents/plain", "workflows/Review"):
        answer = await read(host, path)
        assert answer.status_code == 200, answer.text
        assert SECRET not in answer.text


@pytest.mark.behaviour("http.describes-agents")
async def test_a_workflow_is_described_with_the_agents_that_it_calls(host: DirectHost) -> None:
    told = (await read(host, "workflows/review")).json()

    assert (told["kind"], told["graph"]["start"], told["rules"]["busy"]) == ("workflow", "critic", "queue")
    assert [(agent["name"], agent["instructions"]) for agent in told["agents"]] == [("critic", HIDDEN)]
    assert "instructions" not in told


@pytest.mark.behaviour("http.describes-agents")
@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(
    ("user", "setting", "shown"),
    [("ann", "administrators", None), ("root", "administrators", HIDDEN), ("ann", "callers", HIDDEN)],
)
async def test_instructions_are_for_administrators_unless_the_app_says_otherwise(
    user: str, setting: str, shown: str | None
) -> None:
    """In an app with owners; the rest is for every caller, and those of agents that are tools are hidden too."""
    app = OwnedApp(with_roles, agent=keyed_agent(), AGENT_ADMIN_ROLE="operators", AGENT_INSTRUCTIONS_FOR=setting)
    told = (await app.ask(user, "GET", "/api/agents/Orders")).json()
    critic = next(each for each in told["tools"] if each["name"] == "critic")["agent"]

    assert (told["instructions"], critic["instructions"]) == (shown, shown)
    assert told["instructions_hidden"] is (shown is None)
    assert told["model"] == {"name": "large-1", "offline": False}
    assert (await app.ask(None, "GET", "/api/agents/Orders")).status_code == 401


EVERY_AGENT_CAN = "What can you do?"


def agent_with(**properties: Any) -> Agent:
    return Agent(client=OfflineChatClient(), name="Joker", additional_properties=properties)


@pytest.mark.behaviour("hosting.examples")
async def test_the_list_of_agents_has_the_example_of_each() -> None:
    """Of an agent that names none, a question that every agent can answer; of a workflow too."""
    app = app_of(create_assistant(OfflineChatClient()), agent_with(), workflow=text_flow)
    async with served(app) as (_, http):
        agents = (await http.get("/api/agents")).json()["agents"]
        workflows = (await http.get("/api/workflows")).json()["workflows"]

    assert [agent["example"] for agent in agents] == ["What is the weather in Paris?", EVERY_AGENT_CAN]
    assert [workflow["example"] for workflow in workflows] == [EVERY_AGENT_CAN]


@pytest.mark.behaviour("hosting.examples")
def test_the_start_proposes_the_example_of_the_first_agent() -> None:
    app = app_of(create_assistant(OfflineChatClient()), agent_with())

    assert app.introduction["request"] == ("http-assistant", "What is the weather in Paris?")


@pytest.mark.behaviour("hosting.examples")
@pytest.mark.parametrize(
    "example", ['Say "hi"', "Pay $5", "`date`", "a\\b", "Hi!", "%PATH%", "@file", "two\nlines", ""]
)
def test_an_example_that_a_shell_reads_otherwise_is_not_proposed_at_the_start(example: str) -> None:
    """In double quotes, on any system; nor one that curl takes for the name of a file."""
    assert app_of(agent_with(example=example)).introduction["request"] == ("http-Joker", EVERY_AGENT_CAN)
