"""Parts of agent-framework that run the model more often, or stop it: hosted, and through a kill."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentLoopMiddleware,
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    InlineSkill,
    MCPStreamableHTTPTool,
    Message,
    MessageInjectionMiddleware,
    SkillFrontmatter,
    SkillsProvider,
    tool,
)

from hosting.core.thread.events import ToolStarted
from hosting.core.thread.run_request import RunRequest
from hosting.names import new_id
from hosting.offline.model import OfflineChatClient
from hosting.tools import current, idempotent
from tests.support.cluster.cluster import Cluster
from tests.support.killed_runs import (
    AFTER_A_BEGIN,
    AFTER_A_TOOL,
    AFTER_TWO_TOOLS,
    Ended,
    counting,
    killed_and_finished,
)
from tests.support.made_app import app_of, ask, served
from tests.support.planned import Note, Plan, PlannedModel, planned_agent, planned_client
from tests.support.tool_server import ToolServer

pytestmark = pytest.mark.filterwarnings("ignore:.*experimental")


class Sent(ChatMiddleware):
    """The texts of each model call."""

    def __init__(self) -> None:
        self.texts: list[list[str]] = []

    async def process(self, context: ChatContext, call_next: Any) -> None:
        self.texts.append([message.text for message in context.messages])
        await call_next()


@pytest.mark.behaviour("journal.parts")
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_message_that_a_tool_injected_reaches_the_model_once_though_its_process_died(*, streamed: bool) -> None:
    """The tool is not called again, and what it put into the session is there."""
    counted, note = counting()
    injection = MessageInjectionMiddleware()

    @tool
    async def hint(n: int, ctx: FunctionInvocationContext) -> str:
        """Give the model a hint."""
        note("hint")
        assert ctx.session is not None
        injection.enqueue_messages(ctx.session, Message("system", ["Mind the gap."]))
        return "given"

    sent = Sent()
    client = planned_client(note, (("hint",), "all done"))
    agent = Agent(client, name="Joker", tools=[hint], middleware=[injection, sent])

    ended = await killed_and_finished(agent, counted, appends=AFTER_A_TOOL, streamed=streamed)

    assert (ended.terminal["kind"], counted["hint"]) == ("completed", 1), ended.terminal
    assert sent.texts[-1].count("Mind the gap.") == 1


@pytest.mark.behaviour("journal.parts")
async def test_a_loop_goes_on_in_the_round_that_its_process_died_in() -> None:
    counted, note = counting()
    agent = planned_agent(note, plan=(("add",), "all done"))
    agent.middleware = [AgentLoopMiddleware(lambda *, iteration, **_: iteration < 2, max_iterations=3)]

    ended = await killed_and_finished(agent, counted, appends=AFTER_TWO_TOOLS)

    assert (ended.terminal["kind"], counted["add"]) == ("completed", 2), ended.terminal


LAST_MODEL_CALL = Counter({"model 3": 1})


@pytest.mark.behaviour("journal.nothing-twice")
async def test_arguments_that_the_framework_refused_are_refused_again() -> None:
    """The tool was not called for them, and the model gets the same result."""
    counted, note = counting()

    def counts(n: list[int]) -> int:
        note("counts")
        return len(n)

    agent = Agent(planned_client(note, (("counts",), ("counts",), "all done")), name="Joker", tools=[counts])

    ended = await killed_and_finished(agent, counted)

    assert (ended.terminal["kind"], ended.done_after) == ("completed", LAST_MODEL_CALL)
    assert "counts" not in counted


@pytest.mark.behaviour("journal.mcp-tools")
async def test_an_mcp_servers_tools_are_given_again_and_told_the_key_of_each_call() -> None:
    """Over a real socket; the whole answer that the framework keeps beside a result does not count."""
    counted, note = counting()

    with ToolServer() as server:
        agent = asks_twice(note, MCPStreamableHTTPTool("cities", server.url))
        ended = await killed_and_finished(agent, counted)

    assert (ended.terminal["kind"], ended.done_after) == ("completed", LAST_MODEL_CALL)
    assert server.keys == ["r-1-1.call-0-0", "r-1-2.call-1-0"]


def asks_twice(note: Note, tool: Any) -> Agent[Any]:
    """Return an agent that calls `city_of` twice."""
    return Agent(planned_client(note, (("city_of",), ("city_of",), "all done")), name="Joker", tools=[tool])


INNER: Plan = (("add",), ("look",), "seven")
# Appends: the claim, `helper` begins, `add` begins and ends, `look` begins and ends.
LOOK_BEGAN, LOOK_ENDED = 5, 6


def asks_a_helper(note: Note, inner: Plan = INNER, outer: Plan = (("helper",), "all done")) -> Agent[Any]:
    """Return an agent whose tool `helper` is another agent; what that one does is noted as `inner`."""
    helper = planned_agent(lambda what: note(f"inner {what}"), plan=inner, name="Helper")
    tools = [helper.as_tool(name="helper", arg_name="n")]
    return Agent(planned_client(note, outer), name="Joker", tools=tools)


@pytest.mark.behaviour("journal.agents-as-tools")
async def test_a_tool_of_it_that_was_cut_short_ends_the_run() -> None:
    """As one of the agent that runs; the sentence names the tool, and not the agent that called it."""
    counted, note = counting()

    ended = await killed_and_finished(asks_a_helper(note), counted, appends=LOOK_BEGAN)

    assert (ended.terminal["code"], ended.done_after) == ("run_interrupted", Counter())
    assert "tool 'look'" in ended.terminal["detail"]


@pytest.mark.behaviour("journal.agents-as-tools")
async def test_every_call_inside_has_a_key_of_its_own() -> None:
    """Also where an agent is called twice at once, and by an agent that is a tool itself."""
    noted: list[str] = []
    inner = asks_a_helper(noted.append, inner=(("add",), "seven"), outer=(("helper", "helper"), "both"))
    tools = [inner.as_tool(name="middle", arg_name="n")]
    client = planned_client(noted.append, (("middle",), "all done"))
    app = Cluster(lambda: Agent(client, name="Joker", tools=tools)).process()

    run_id = await app.run("go")

    place = f"{run_id}-1.call-0-0/1.call-0"
    keys = {what.rpartition(" ")[2] for what in noted if what.startswith("inner add")}
    assert keys == {f"{place}-0/1.call-0-0", f"{place}-1/1.call-0-0"}
    started = [step for step in (await app.find_run(run_id)).steps if isinstance(step, ToolStarted)]
    assert Counter(step.name for step in started) == Counter(middle=1, helper=2, add=2)


class BareClient(FunctionInvocationLayer[Any], PlannedModel):
    """The planned model without chat middleware, as somebody's own client may be; like others it makes ids anew."""

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        response = await super().answer(messages, options)
        for content in response.messages[0].contents:
            if content.call_id is not None:
                content.call_id = new_id()
        return response


@pytest.mark.behaviour("journal.clients-without-middleware")
async def test_what_its_tools_did_is_not_done_again() -> None:
    counted, note = counting()
    client = BareClient()
    client.note, client.plan = note, (("add",), ("look",), "all done")
    agent = Agent(client, name="Joker", tools=planned_agent(note).default_options["tools"])

    ended = await killed_and_finished(agent, counted, appends=AFTER_TWO_TOOLS)

    assert ended.terminal["kind"] == "completed"
    assert ended.done_after == Counter({"model 1": 1, "model 2": 1, "model 3": 1})


SKILL = "---\nname: counting\ndescription: Counts.\n---\nRun scripts/count.py.\n"
TOOLS_WITHOUT_APPROVAL: Mapping[str, Any] = {
    "disable_load_skill_approval": True,
    "disable_read_skill_resource_approval": True,
    "disable_run_skill_script_approval": True,
}


class Counted:
    """The calls that a skill's code had, by the key of each, and the threads that it ran in."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.threads: list[str] = []

    def note(self) -> None:
        """Note that the code runs."""
        self.calls[current().call_key] += 1
        self.threads.append(threading.current_thread().name.partition("_")[0])

    def inline(self, mark: Callable[[Any], Any] = lambda script: script) -> SkillsProvider:
        """A skill in code, whose script is declared by `mark`; its tools ask nobody."""
        skill = InlineSkill(frontmatter=SkillFrontmatter(name="counting", description="Counts."), instructions="Count.")

        def count(word: str) -> int:
            self.note()
            return len(word)

        async def count_later(word: str) -> int:
            self.note()
            return len(word)

        skill.script(mark(count))
        skill.script(count_later)
        return SkillsProvider(skill, **TOOLS_WITHOUT_APPROVAL)

    def run_file(self, skill: Any, script: Any, args: Any = None) -> str:
        self.note()
        return f"ran {Path(script.full_path).name}"

    def in_files(self, folder: Path, run: Callable[..., Any] | None = None) -> SkillsProvider:
        """The skill as a folder, with a script that is a file."""
        files = {"SKILL.md": SKILL, "scripts/count.py": "print(1)\n", "words.md": "many\n"}
        for name, text in files.items():
            (folder / "counting" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "counting" / name).write_text(text, encoding="utf-8")
        return SkillsProvider.from_paths(folder, script_runner=run or self.run_file, **TOOLS_WITHOUT_APPROVAL)


async def killed(provider: SkillsProvider, tool: str, arguments: dict[str, Any], *, appends: int) -> Ended:
    """Have the model call the tool, kill the run after so many appends, and let another attempt end it."""
    agent = Agent(OfflineChatClient(), name="Joker", context_providers=[provider])
    request = RunRequest(message=f"Call {tool} with {json.dumps(arguments)}")
    return await killed_and_finished(agent, Counter(), request=request, appends=appends)


def call_of(script: str) -> dict[str, Any]:
    """Return the arguments of a call of that script, in code or in a file."""
    args: Any = ["four"] if script.endswith(".py") else {"word": "four"}
    return {"skill_name": "Counting", "script_name": script, "args": args}


FILE = "scripts/count.py"


@pytest.mark.behaviour("skills.scripts")
async def test_a_file_s_script_that_was_cut_off_is_not_run_again(tmp_path: Path) -> None:
    counted = Counted()

    ended = await killed(counted.in_files(tmp_path), "run_skill_script", call_of(FILE), appends=AFTER_A_BEGIN)

    assert (ended.terminal["code"], counted.calls) == ("run_interrupted", Counter())


PROVIDERS: Mapping[str, Callable[[Counted, Path], SkillsProvider]] = {
    "function": lambda counted, folder: counted.inline(idempotent),
    "provider": lambda counted, folder: idempotent(counted.inline()),
    "runner": lambda counted, folder: counted.in_files(folder, idempotent(partial(counted.run_file))),
}


@pytest.mark.behaviour("skills.scripts")
@pytest.mark.parametrize("declared", PROVIDERS)
async def test_a_script_that_is_declared_idempotent_is_run_again(declared: str, tmp_path: Path) -> None:
    """By its function; a skill, and a provider, stand for all their scripts. It has the same key."""
    counted, script = Counted(), FILE if declared == "runner" else "count"

    provider = PROVIDERS[declared](counted, tmp_path)
    ended = await killed(provider, "run_skill_script", call_of(script), appends=AFTER_A_BEGIN)

    assert (ended.terminal["kind"], list(counted.calls.values())) == ("completed", [1])
    assert all(key.startswith("r-1-1.") for key in counted.calls)
    assert ("ran count.py" if script == FILE else "4") in json.dumps(ended.terminal["entry"])


@pytest.mark.behaviour("skills.read-again")
@pytest.mark.parametrize(
    ("tool", "more", "said"),
    [("load_skill", {}, "Run scripts/count.py."), ("read_skill_resource", {"resource_name": "words.md"}, "many")],
)
async def test_reading_a_skill_is_done_again(tool: str, more: dict[str, str], said: str, tmp_path: Path) -> None:
    """It changes nothing, so a kill in the middle of it ends no run."""
    provider = Counted().in_files(tmp_path)

    ended = await killed(provider, tool, {"skill_name": "counting", **more}, appends=AFTER_A_BEGIN)

    assert ended.terminal["kind"] == "completed"
    assert said in json.dumps(ended.terminal["entry"])


@pytest.mark.behaviour("skills.threads")
@pytest.mark.parametrize(("script", "thread"), [("count_later", "agent-loop"), (FILE, "agent-tool")])
async def test_a_script_that_blocks_holds_up_no_other_agent(script: str, thread: str, tmp_path: Path) -> None:
    """A synchronous one runs in a thread, as a tool does; an asynchronous one on the agents' loop."""
    counted = Counted()
    provider = counted.in_files(tmp_path) if script == FILE else counted.inline()
    agent = Agent(OfflineChatClient(), name="Joker", context_providers=[provider])

    async with served(app_of(agent)) as (_, http):
        await ask(http, f"Call run_skill_script with {json.dumps(call_of(script))}")

    assert counted.threads == [thread]
