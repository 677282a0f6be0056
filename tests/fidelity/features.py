"""The table: each way in which an agent of agent-framework may differ, and the agent that a row of choices makes.

A row has one choice of each dimension; what one choice alone needs is imported where its row is made. Its agent is
plain agent-framework code, as a user writes it; nothing here knows how it is hosted. `allowed` says which choices go
together.
"""

from __future__ import annotations

import base64
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import httpx2
from agent_framework import (
    Agent,
    AgentContext,
    AgentLoopMiddleware,
    AgentMiddleware,
    ChatContext,
    ChatMiddleware,
    CompactionProvider,
    CompactionStrategy,
    Content,
    ContextProvider,
    FileMemoryProvider,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    InlineSkill,
    InMemoryAgentFileStore,
    InMemoryHistoryProvider,
    MCPStreamableHTTPTool,
    Message,
    MessageInjectionMiddleware,
    MiddlewareTermination,
    SkillFrontmatter,
    SkillsProvider,
    SlidingWindowStrategy,
    SummarizationStrategy,
    TodoProvider,
    ToolApprovalMiddleware,
    ToolResultCompactionStrategy,
    TruncationStrategy,
    enqueue_messages,
    tool,
)
from agent_framework.openai import OpenAIChatClient, OpenAIChatCompletionClient
from openai import AsyncOpenAI

from hosting.tools import idempotent
from tests.fidelity.anthropic_messages import AnthropicMessages
from tests.fidelity.chat_completions import ChatCompletions
from tests.fidelity.responses import Responses
from tests.fidelity.strict_model import StrictModel, Wire

Row = Mapping[str, str]

DIMENSIONS: dict[str, tuple[str, ...]] = {
    "client": ("chat completions", "responses", "anthropic"),
    "carrier": ("waited", "streamed", "killed"),
    "tools": ("none", "one", "parallel", "rounds", "declared", "hosted", "agent", "mcp", "no ids", "session"),
    "approval": ("none", "person", "refused", "rule", "standing", "mixed"),
    "middleware": ("none", "function", "chat", "agent", "loop", "ends with a result", "ends without a result", "retry"),
    "provider": ("none", "messages", "tools", "history of each call", "own history", "todo", "file memory", "skills"),
    "compaction": ("none", "window", "truncation", "tool results", "summary", "kept summary"),
    "store": ("unset", "off", "on", "conversation"),
    "format": ("none", "schema"),
    "content": ("text", "picture", "file", "picture from a tool", "thinking"),
    "finish": ("stop", "length", "content_filter", "cut"),
    "second turn": ("answered", "failed", "cancelled"),
}

PLAINEST: dict[str, str] = {name: choices[0] for name, choices in DIMENSIONS.items()} | {"within": "nothing"}
"""With what no row crosses with the others: the agent may be that of a workflow."""
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
FILE = b"%PDF-1.4 a page"
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
_CALLS_TOOLS = ("one", "parallel", "rounds", "mcp", "no ids")
_WIRES: dict[str, Callable[[], Wire]] = {
    "chat completions": ChatCompletions,
    "responses": Responses,
    "anthropic": AnthropicMessages,
}


def row(**choices: str) -> Row:
    """Return the plainest row with these choices; `_` in a name stands for a space."""
    return {**PLAINEST, **{name.replace("_", " "): choice for name, choice in choices.items()}}


def title(of: Row) -> str:
    """Return what is not plain in the row."""
    return ", ".join(f"{name}={choice}" for name, choice in of.items() if choice != PLAINEST[name]) or "plain"


def allowed(chosen: Row) -> bool:
    """Return whether these choices, some of a row's, go together: the client has them, and the script can be told."""
    has = PLAINEST | dict(chosen)
    rules = (
        has["client"] == "responses" or (has["tools"] != "hosted" and has["store"] == "unset"),
        has["content"] != "thinking" or has["client"] != "chat completions",
        has["content"] != "file" or has["client"] != "anthropic",
        has["content"] != "picture from a tool" or has["tools"] in {"one", "parallel", "rounds"},
        has["approval"] == "none" or has["tools"] in _CALLS_TOOLS,
        has["approval"] != "mixed" or has["tools"] == "parallel",
        has["tools"] != "no ids" or has["client"] == "chat completions",
        has["finish"] != "cut" or has["carrier"] == "streamed",
        has["format"] == "none"
        or (has["finish"] == "stop" and has["middleware"] not in {"loop", "ends with a result"}),
        has["tools"] not in {"none", "hosted"} or has["compaction"] != "tool results",
        has["tools"] != "none" or has["middleware"] != "function",
        has["middleware"] not in {"ends with a result", "ends without a result"} or has["tools"] in _CALLS_TOOLS,
    )
    return all(rules)


@dataclass
class Setting:
    """One agent of a row with its model, and what its tools did."""

    row: Row
    model: StrictModel
    done: list[str] = field(default_factory=list)
    before_tool: Callable[[], Any] = lambda: None

    async def work(self, name: str) -> None:
        """Note that a tool ran; a harness may stop the process here."""
        pause = self.before_tool()
        if pause is not None:
            await pause
        self.done.append(name)


def new_setting(of: Row) -> Setting:
    """Return a model for the row."""
    return Setting(of, StrictModel(_WIRES[of["client"]]()))


def agent_of(setting: Setting) -> Any:
    """Return the row's agent, made anew."""
    agent = _agent_of(setting)
    if setting.row.get("within") != "workflow":
        return agent
    from agent_framework.orchestrations import SequentialBuilder

    return SequentialBuilder(participants=[agent]).build().as_agent("a")


def _agent_of(setting: Setting) -> Agent[Any]:
    chosen = setting.row
    options = {**_STORES[chosen["store"]], **_FORMATS[chosen["format"]], **_thinking(chosen)}
    return Agent(
        client=_client(setting),
        name="a",
        instructions="Answer briefly.",
        tools=_tools(setting) or None,
        context_providers=_providers(setting) or None,
        middleware=_middleware(setting) or None,
        compaction_strategy=_compaction(setting),
        require_per_service_call_history_persistence=chosen["provider"] == "history of each call",
        default_options=options or None,
    )


_STORES: dict[str, dict[str, Any]] = {
    "unset": {},
    "off": {"store": False},
    "on": {"store": True},
    "conversation": {"conversation_id": "conv_1"},
}
_FORMATS: dict[str, dict[str, Any]] = {
    "none": {},
    "schema": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
        }
    },
}


def _thinking(chosen: Row) -> dict[str, Any]:
    if chosen["content"] != "thinking":
        return {}
    if chosen["client"] == "anthropic":
        return {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    return {"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]}


def _client(setting: Setting) -> Any:
    asgi = setting.model.asgi
    if setting.row["client"] == "anthropic":
        from agent_framework.anthropic import AnthropicClient
        from anthropic import AsyncAnthropic

        http2 = httpx2.AsyncClient(transport=httpx2.ASGITransport(asgi))
        anthropic = AsyncAnthropic(api_key="none", base_url="http://model.example", http_client=http2, max_retries=0)
        return AnthropicClient(model="c", anthropic_client=anthropic)
    http = httpx.AsyncClient(transport=httpx.ASGITransport(asgi))
    openai = AsyncOpenAI(api_key="none", base_url="http://model.example/v1", http_client=http, max_retries=0)
    kind = OpenAIChatClient if setting.row["client"] == "responses" else OpenAIChatCompletionClient
    return kind(model="m", async_client=openai)


def _tools(setting: Setting) -> list[Any]:
    chosen = setting.row
    must_ask = chosen["approval"] != "none"

    @idempotent
    @tool(approval_mode="always_require" if must_ask else "never_require")
    async def look(key: str) -> Any:
        """Look a value up."""
        await setting.work(f"look {key}")
        if chosen["content"] == "picture from a tool":
            return [Content.from_text(f"value of {key}"), Content.from_data(PICTURE, "image/png")]
        return f"value of {key}"

    @idempotent
    @tool(approval_mode="always_require" if must_ask else "never_require")
    async def add(amount: int) -> str:
        """Add an amount."""
        await setting.work(f"add {amount}")
        return f"added {amount}"

    match chosen["tools"]:
        case "none":
            return []
        case "declared":
            schema = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}
            return [FunctionTool(name="where", func=None, description="The caller's city.", input_model=schema)]
        case "hosted":
            return [OpenAIChatClient.get_web_search_tool()]
        case "mcp":
            return [idempotent(ToolServer(setting, must_ask=must_ask))]
        case "agent":
            inner = Agent(client=_client(setting), name="inner", instructions="Help.", tools=[look])
            return [inner.as_tool(name="inner", arg_name="task")]
        case _:
            return [look, add]


class ToolServer(MCPStreamableHTTPTool):
    """A server of the tool `look`, in this process; its transport is the only part that is not a real one's."""

    def __init__(self, setting: Setting, *, must_ask: bool) -> None:
        from mcp.server import MCPServer

        super().__init__("shop", "http://localhost", approval_mode="always_require" if must_ask else "never_require")
        self._served = MCPServer("shop")

        @self._served.tool()
        async def look(key: str) -> str:
            """Look a value up."""
            await setting.work(f"look {key}")
            return f"value of {key}"

    def get_mcp_client(self) -> Any:
        """Return a transport to the server."""
        from mcp.client._memory import InMemoryTransport

        return InMemoryTransport(self._served)


class AddedMessages(ContextProvider):
    """Puts a message of its own before those of the run, which counts the turns that were answered."""

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        context.extend_messages(self, [Message("user", [f"Remember {state.get('turns', 0)} turns."])])

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        state["turns"] = state.get("turns", 0) + 1


class Remembers(ContextProvider):
    """Has a tool that keeps words in the session, and puts them before the run's messages."""

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:

        @tool
        def keep(word: str) -> str:
            """Keep a word."""
            state.setdefault("words", []).append(word)
            return f"kept {len(state['words'])}"

        context.extend_tools(self.source_id, [keep])
        context.extend_messages(self, [Message("user", [f"Kept: {state.get('words', [])}"])])


class AddedTools(ContextProvider):
    """Offers a tool, and says so."""

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:

        @tool
        def clock() -> str:
            """Tell the time."""
            return "noon"

        context.extend_tools(self.source_id, [clock])
        context.extend_instructions(self.source_id, "You have a clock.")


def _providers(setting: Setting) -> list[Any]:
    made = _PROVIDERS.get(setting.row["provider"])
    added = [] if made is None else [made()]
    added += [Remembers("remembers")] if setting.row["tools"] == "session" else []
    if setting.row["compaction"] != "kept summary":
        return added
    strategy = SummarizationStrategy(client=_client(setting), target_count=1, threshold=1)
    keeper = InMemoryHistoryProvider(skip_excluded=True)
    others = [provider for provider in added if not isinstance(provider, InMemoryHistoryProvider)]
    return [keeper, CompactionProvider(after_strategy=strategy), *others]


_PROVIDERS: dict[str, Callable[[], Any]] = {
    "messages": lambda: AddedMessages("added_messages"),
    "tools": lambda: AddedTools("added_tools"),
    "history of each call": InMemoryHistoryProvider,
    "own history": InMemoryHistoryProvider,
    "todo": TodoProvider,
    "file memory": lambda: FileMemoryProvider(InMemoryAgentFileStore()),
    "skills": lambda: SkillsProvider([InlineSkill(frontmatter=_GREETING, instructions="Say hello.")]),
}
_GREETING = SkillFrontmatter(name="greeting", description="How to greet.")


class Marks(ChatMiddleware):
    """Changes what the model is sent, and looks at what it answers."""

    async def process(self, context: ChatContext, call_next: Any) -> None:
        context.messages = [*context.messages, Message("user", ["(from the middleware)"])]
        await call_next()


class Wraps(FunctionMiddleware):
    """Changes what a tool returns."""

    async def process(self, context: FunctionInvocationContext, call_next: Any) -> None:
        await call_next()
        if isinstance(context.result, str):
            context.result = f"[{context.result}]"


class Prefaces(AgentMiddleware):
    """Puts a message before the run's own."""

    async def process(self, context: AgentContext, call_next: Any) -> None:
        context.messages = [Message("user", ["(before)"]), *context.messages]
        await call_next()


class EndsTools(FunctionMiddleware):
    """Ends the loop of tool calls at the first of them."""

    def __init__(self, *, has_result: bool) -> None:
        self._has_result = has_result

    async def process(self, context: FunctionInvocationContext, call_next: Any) -> None:
        if self._has_result:
            context.result = "not now"
        raise MiddlewareTermination("enough")


class Injects(FunctionMiddleware):
    """Has one more message given to the model, with the result of the tool."""

    async def process(self, context: FunctionInvocationContext, call_next: Any) -> None:
        await call_next()
        assert context.session is not None
        enqueue_messages(context.session, "Mind this too.")


class TriesAgain(AgentMiddleware):
    """Runs the agent once more where it failed."""

    async def process(self, context: AgentContext, call_next: Any) -> None:
        try:
            await call_next()
        except Exception:
            await call_next()


_MIDDLEWARE: dict[str, Callable[[], list[Any]]] = {
    "none": list,
    "function": lambda: [Wraps()],
    "chat": lambda: [Marks()],
    "agent": lambda: [Prefaces()],
    "injection": lambda: [MessageInjectionMiddleware(), Injects()],
    "loop": lambda: [AgentLoopMiddleware(lambda *, iteration, **_: iteration < 2, max_iterations=3)],
    "ends with a result": lambda: [EndsTools(has_result=True)],
    "ends without a result": lambda: [EndsTools(has_result=False)],
    "retry": lambda: [TriesAgain()],
}
_RULES: dict[str, list[Any]] = {
    "rule": [lambda call: True],
    "standing": [],
    "mixed": [lambda call: call.name == "look"],
}
"""What a person is not asked about."""


def _middleware(setting: Setting) -> list[Any]:
    approval = setting.row["approval"]
    decides = [ToolApprovalMiddleware(auto_approval_rules=_RULES[approval])] if approval in _RULES else []
    return [*_MIDDLEWARE[setting.row["middleware"]](), *decides]


def _compaction(setting: Setting) -> CompactionStrategy | None:
    strategies: dict[str, Callable[[], CompactionStrategy]] = {
        "window": lambda: SlidingWindowStrategy(keep_last_groups=3),
        "truncation": lambda: TruncationStrategy(max_n=8, compact_to=4),
        "tool results": lambda: ToolResultCompactionStrategy(keep_last_tool_call_groups=1),
        "summary": lambda: SummarizationStrategy(client=_client(setting), target_count=3, threshold=2),
    }
    made = strategies.get(setting.row["compaction"])
    return None if made is None else made()


def folder() -> Path:
    """Return a new folder for what a process keeps."""
    return Path(tempfile.mkdtemp(prefix="fidelity-"))


@cache
def rows(seed: int) -> list[Row]:
    """Return the rows of a seed: another one crosses other choices beyond the pairs."""
    from allpairspy import AllPairs

    chance = random.Random(seed)
    names = chance.sample(list(DIMENSIONS), len(DIMENSIONS))
    choices = [chance.sample(DIMENSIONS[name], len(DIMENSIONS[name])) for name in names]

    def goes_together(values: Sequence[str]) -> bool:
        return allowed(dict(zip(names, values, strict=False)))

    return [
        {name: dict(zip(names, values, strict=True))[name] for name in DIMENSIONS}
        for values in AllPairs(choices, filter_func=goes_together)
    ]
