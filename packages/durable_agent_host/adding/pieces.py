"""The code that `add` writes: for each kind a file, its test, and where the app names it.

The texts are those of docs/guides/adding.md. `NAME` stands for what is added, `AGENT` for the agent that it belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LIBRARY = "durable_agent_host"
OWNERS = {"AgentFunctionApp": "app", "OfflineChatClient": "offline.model"}
"""The module in a clone of each name that the texts have from the library."""


@dataclass(frozen=True)
class Piece:
    """What is written for one kind. `name` is imported from the file; `needs_agent`: it belongs to an agent."""

    folder: str
    about: str
    """The docstring of the folder's package."""
    name: str
    code: str
    test: str
    needs_agent: bool = False


AGENT = '''\
"""The agent `NAME`."""

from agent_framework import Agent

from agents.models import ChatClient

INSTRUCTIONS = """\\
You are a friendly assistant. Answer in one or two sentences.
"""


def create_NAME(client: ChatClient) -> Agent:
    """The agent as it is hosted; `client` is the model that it talks to."""
    return Agent(
        client=client,
        name="NAME",
        description="Say in a sentence what the agent is for: other agents and MCP clients read it.",
        instructions=INSTRUCTIONS,
        tools=[],
    )
'''
AGENT_TEST = '''\
"""The agent `NAME`, asked over HTTP in the app that hosts it. The library has the fixtures."""

from collections.abc import Callable
from typing import Any


def test_NAME_answers(ask: Callable[..., Any], model: Any) -> None:
    """The model says what the test has it say: no real one is called."""
    model.says("Hello.")

    assert ask("Hi", agent="NAME").text == "Hello."
'''
TOOL = '''\
"""The tool `NAME`."""

from typing import Annotated

from agent_framework import tool


@tool
async def NAME(text: Annotated[str, "Say what the model passes here"]) -> str:
    """Say what the tool does: the model reads this sentence, and decides by it."""
    return f"NAME got {text}"
'''
TOOL_TEST = '''\
"""The tool `NAME`, called as a function, and by its agent in the app that hosts it. The library has the fixtures."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tools.NAME import NAME


def test_NAME_returns_its_result() -> None:
    """It is a plain function."""
    assert asyncio.run(NAME(text="A-17")) == "NAME got A-17"


@pytest.mark.killed_at("after the result of 'NAME' was recorded")
def test_NAME_is_called_once(ask: Callable[..., Any], model: Any, agent_app: Any) -> None:
    """Once without a kill, and once with it. For a tool that is `idempotent`, write "each step"."""
    model.calls("NAME", text="A-17").says("Done.")

    assert ask("Call it.", agent="AGENT").text == "Done."
    assert [call.tool for call in agent_app.tool_calls] == ["NAME"]
'''
WORKFLOW = '''\
"""The workflow `NAME`: its executors, and the function that builds it for each run."""

from typing import Never

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler


class Trim(Executor):
    """The first step."""

    @handler
    async def trim(self, text: str, ctx: WorkflowContext[str]) -> None:
        """Send the text on without blanks around it."""
        await ctx.send_message(text.strip())


class Answer(Executor):
    """The last step."""

    @handler
    async def answer(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        """Yield what the workflow answers."""
        await ctx.yield_output(f"NAME got {text}")


def NAME() -> Workflow:
    """Each run has a graph of its own."""
    trim, answer = Trim("trim"), Answer("answer")
    return WorkflowBuilder(name="NAME", start_executor=trim, output_from=[answer]).add_edge(trim, answer).build()
'''
WORKFLOW_TEST = '''\
"""The workflow `NAME`, run in this process."""

import asyncio

from workflows.NAME import NAME


def test_NAME_yields_its_answer() -> None:
    """Through both steps."""
    result = asyncio.run(NAME().run(" A-17 "))

    assert result.get_outputs() == ["NAME got A-17"]
'''
SCHEDULE = '''\
"""The schedule `NAME`: when the agent `AGENT` runs by itself, and with which message."""

import azure.functions as func

from durable_agent_host import AgentFunctionApp

WEEKDAYS_AT_NINE = "0 0 9 * * 1-5"  # second, minute, hour, day, month, day of the week; in UTC


def NAME(timer: func.TimerRequest) -> str:
    """Return the message of the run."""
    return "Say good morning."


def add_NAME(app: AgentFunctionApp) -> None:
    """Each tick begins one run, however often it is delivered."""
    timer = app.timer_trigger(arg_name="timer", schedule=WEEKDAYS_AT_NINE)
    app.agent_trigger("AGENT")(timer(NAME))
'''
SCHEDULE_TEST = '''\
"""The schedule `NAME`: its message, and its function."""

from agent_framework import Agent

from durable_agent_host import AgentFunctionApp, OfflineChatClient
from schedules.NAME import WEEKDAYS_AT_NINE, add_NAME


def test_NAME_is_a_timer_of_the_app() -> None:
    """The host calls it at its times."""
    app = AgentFunctionApp(agents=[Agent(client=OfflineChatClient(), name="AGENT")])

    add_NAME(app)

    functions = {function.get_function_name(): function for function in app.get_functions()}
    assert functions["NAME"].get_trigger().schedule == WEEKDAYS_AT_NINE
'''
TRIGGER = '''\
"""The trigger `NAME`: each message of a queue is one run of the agent `AGENT`."""

import azure.functions as func

from durable_agent_host import AgentFunctionApp

QUEUE = "QUEUE_NAME"


def NAME(message: func.QueueMessage) -> str:
    """Return the message of the run: the text of the queue's message."""
    return message.get_body().decode()


def add_NAME(app: AgentFunctionApp) -> None:
    """A message that is delivered again finds its run."""
    queue = app.queue_trigger(arg_name="message", queue_name=QUEUE, connection="AzureWebJobsStorage")
    app.agent_trigger("AGENT")(queue(NAME))
'''
TRIGGER_TEST = '''\
"""The trigger `NAME`: what the agent gets, and its function."""

import azure.functions as func
from agent_framework import Agent

from durable_agent_host import AgentFunctionApp, OfflineChatClient
from triggers.NAME import QUEUE, NAME, add_NAME


def test_NAME_passes_on_the_text() -> None:
    """As it is in the queue."""
    assert NAME(func.QueueMessage(body=b"Where is order A-17?")) == "Where is order A-17?"


def test_NAME_is_a_function_of_the_app() -> None:
    """The host calls it for each message of the queue."""
    app = AgentFunctionApp(agents=[Agent(client=OfflineChatClient(), name="AGENT")])

    add_NAME(app)

    functions = {function.get_function_name(): function for function in app.get_functions()}
    assert functions["NAME"].get_trigger().queue_name == QUEUE
'''
PIECES: Mapping[str, Piece] = {
    "agent": Piece("agents", "The agents of this app.", "create_NAME", AGENT, AGENT_TEST),
    "tool": Piece("tools", "The tools of this app's agents.", "NAME", TOOL, TOOL_TEST, needs_agent=True),
    "workflow": Piece("workflows", "The workflows of this app.", "NAME", WORKFLOW, WORKFLOW_TEST),
    "schedule": Piece(
        "schedules", "When agents run by themselves.", "add_NAME", SCHEDULE, SCHEDULE_TEST, needs_agent=True
    ),
    "trigger": Piece("triggers", "What begins runs of agents.", "add_NAME", TRIGGER, TRIGGER_TEST, needs_agent=True),
}
_MODELS, _ANY_CLIENT = "from agents.models import ChatClient", "from agent_framework import Agent\n"


def rendered(text: str, name: str, agent: str, library: str, *, has_models: bool) -> str:
    """Return a text for an app: with its names, imports from its library, and the type of its chat client."""
    if not has_models and _MODELS in text:
        text = text.replace(f"{_ANY_CLIENT}\n{_MODELS}\n", f"from typing import Any\n\n{_ANY_CLIENT[:-1]}, {_ANY}\n")
        text = text.replace("client: ChatClient", f"client: {_ANY}[Any]")
    text = text.replace("QUEUE_NAME", name.replace("_", "-")).replace("NAME", name).replace("AGENT", agent)
    return text if library == LIBRARY else "\n".join(_of_clone(line, library) for line in text.split("\n"))


_ANY = "SupportsChatGetResponse"


def _of_clone(line: str, library: str) -> str:
    """Return an import of the library as a clone has it: each name from its module."""
    start = f"from {LIBRARY} import "
    if not line.startswith(start):
        return line
    names = line.removeprefix(start).split(", ")
    return "\n".join(f"from {library}.{OWNERS[name]} import {name}" for name in names)
