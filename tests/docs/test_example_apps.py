"""The apps on pages: each starts as it stands there and does what the page says, and tables beside them are whole."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import redis
from agent_framework import Agent, CompactionProvider, SummarizationStrategy

from hosting.app import AgentFunctionApp
from hosting.core.agent.history import history_source
from hosting.core.archiving import Archiver, Capacity
from hosting.core.document_writer import Attachments, DocumentWriter
from hosting.core.stores.archive import Archive
from hosting.core.stores.memory import MemoryObjects
from hosting.core.stores.redis import RedisThreadStore
from hosting.core.thread.conversation import Snapshot
from hosting.core.thread.events import encode
from hosting.core.thread.head import NEW
from hosting.core.thread_log import ThreadLog
from hosting.core.thread_operations import Store
from hosting.errors import ArchiveUnavailableError
from hosting.features.triggers.trigger import TriggerOptions
from hosting.names import Address
from hosting.offline.model import OfflineChatClient
from hosting.settings import Settings
from state.codec import read
from state.conversation import append_turn
from tests.support.carriers import GUARD_SECONDS
from tests.support.cluster.stores import ArmedObjects
from tests.support.deliveries import Out, queued
from tests.support.direct import DirectHost
from tests.support.made_app import MEMORY, ask, served
from tests.support.pages import ROOT, code, page, part
from tests.support.redis_server import RedisServer
from tests.support.spender import priced, spender
from tests.support.state_documents import a_request, a_response
from tests.support.threads import accept, end


@pytest.fixture(autouse=True)
def _of_a_developer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and a log that the process has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENT_LOG", "memory")


def made(block: str, **names: Any) -> dict[str, Any]:
    """Return what a block of a page defines, beside these."""
    defined = {"__name__": "example", **names}
    exec(block, defined)
    return defined


@pytest.mark.behaviour("docs.budgets")
def test_each_app_with_a_budget_or_a_limit_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its agents call the model that the page has a price of."""
    monkeypatch.setenv("WEBSITE_AUTH_ENABLED", "True")
    agents = {name: spender(name, client=priced("gpt-5-mini")) for name in ("assistant", "researcher")}
    blocks = code(page("docs/guides/budgets.md") + page("docs/guides/limits.md"), "python")

    assert [len(made(block, **agents)["app"].agents) for block in blocks] == [2, 1, 1, 2]


@pytest.mark.behaviour("docs.budgets")
async def test_an_owner_reads_of_a_day_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """After one call of the model, and without a principal, as its request has none; the day of the test apart."""
    monkeypatch.setenv("WEBSITE_AUTH_ENABLED", "True")
    text = page("docs/guides/budgets.md")
    (block,) = [block for block in code(text, "python") if "owner/day" in block]
    (shown,) = [json.loads(line) for line in text.splitlines() if line.startswith('{"agent": "assistant", "budget"')]
    agents = {name: spender(name, client=priced("gpt-5-mini")) for name in ("assistant", "researcher")}
    async with served(made(block.replace("principal=easy_auth(), ", ""), **agents)["app"]) as (_, http):
        await http.post("/api/agents/assistant/run", json={"message": "0"})
        day = (await http.get("/api/agents/assistant/budget")).json()

    assert {**day["budget"], "renews_at": ""} == {**shown["budget"], "renews_at": ""}
    assert day["agent"] == shown["agent"]


@pytest.mark.behaviour("docs.workflows")
async def test_the_first_workflow_answers() -> None:
    app = made(code(page("docs/guides/workflows.md"), "python")[0])["app"]
    async with served(app) as (_, http):
        answer = await http.post("/api/workflows/Shout/run", json={"message": "hello"})

    assert answer.json()["response"] == "HELLO"


@pytest.mark.behaviour("docs.triggers")
async def test_the_trigger_answers_each_message_once() -> None:
    """On the thread of its customer, with the id of the run; its table has the options."""
    text = page("docs/guides/triggers.md")
    host, answers = DirectHost(made(code(text, "python")[1])["app"]), Out()
    for _ in range(2):
        await host.trigger("inbox", message=queued('{"customer": "c1", "text": "Hello"}'), answers=answers)

    first, again = map(json.loads, answers.values)
    options = part(text, "## One run for each delivery").split("| option |")[1].split("\n\n")[0]
    assert first == again
    assert "Hello" in first["answer"]
    assert re.findall(r"^\| `([a-z_]+)` \|", options, re.MULTILINE) == list(TriggerOptions.__annotations__)


@pytest.mark.behaviour("docs.hosting")
def test_the_app_of_two_agents_registers_both_and_one_of_them_as_a_tool() -> None:
    app = made(*code(page("docs/reference/hosting.md"), "python"))["app"]
    registered = {function.get_function_name() for function in app.get_functions()}

    assert {"http-guide", "dafx-guide", "mcptool-guide", "http-writer", "dafx-writer"} <= registered
    assert "mcptool-writer" not in registered


@pytest.mark.behaviour("docs.hosting")
def test_an_update_replaces_all_folders_that_the_library_imports() -> None:
    """What it imports of the clone stands in the command."""
    update = part(page("docs/guides/packages.md"), "## Update the library in your app")
    replaced = set(re.findall(r"^    git rm -rq (.*)$", update, re.MULTILINE)[0].split())
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "hosting").rglob("*.py")]
    imported = {name for source in sources for name in re.findall(r"^\s*from (\w+)", source, re.MULTILINE)}

    assert imported & folders <= replaced
    assert {name for name in update.split("-- ")[1].splitlines()[0].split() if not (ROOT / name).exists()} == set()


@pytest.mark.behaviour("archive.page")
def test_an_agent_keeps_its_summaries_and_the_page_has_the_archives_and_defaults() -> None:
    """Without any setting it talks to the offline model."""
    text = page("docs/explanation/long-threads.md")
    agent = made(code(text, "python")[0].replace("os.environ", "{}"))["agent"]
    (provider,) = (provider for provider in agent.context_providers if isinstance(provider, CompactionProvider))

    assert isinstance(provider.after_strategy, SummarizationStrategy)
    assert provider.history_source_id == history_source(agent, "historian")
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == ["sqlite", "blob", "cosmos"]
    assert f"({Settings().recent_bytes // 1024} KiB)" in text
    assert f"({Settings().context_tokens:,}, by an estimate" in text


@pytest.mark.behaviour("archive.page")
async def test_the_page_shows_the_line_of_an_archive_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    """The thread's id and the agent's apart."""
    archive, conversation = ArmedObjects(MemoryObjects(), ArchiveUnavailableError), read(None)
    archive.is_away = True
    for run_id in ("r1", "r2"):
        conversation = append_turn(conversation, a_request(run_id), a_response(run_id, "hi"))
    archiver, attachments = Archiver(Archive(archive), 1), Attachments(MemoryObjects(), 1024)
    keeping = DocumentWriter("hub", Capacity(4096, 1024), archiver, attachments)

    with caplog.at_level(logging.WARNING, "hosting.core.document_writer"):
        outcome = Store(Snapshot(conversation, 2, 2, {}), NEW)
        await keeping.store(Address.of("assistant", "5f0c"), None, outcome, ttl_seconds=None)

    assert re.findall(r"^> (.*)$", page("docs/explanation/long-threads.md"), re.MULTILINE) == caplog.messages


LONGER = "## Work that takes longer than a run"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The page's module, with a bank that notes its keys."""
    made = ModuleType("tools_page")
    monkeypatch.setitem(sys.modules, "tools_page", made)  # where the framework looks for type hints
    paid: list[str] = []

    def pay(number: str, amount: int, idempotency_key: str) -> str:
        paid.append(idempotency_key)
        return f"{amount} paid for {number}"

    made.__dict__.update(bank=SimpleNamespace(pay=pay), paid=paid)
    text = page("docs/guides/tools.md").replace(part(page("docs/guides/tools.md"), LONGER), "")
    exec("\n".join(code(text, "python")), made.__dict__)
    return made


@pytest.mark.behaviour("docs.tools")
async def test_a_tool_that_pays_passes_its_key_on_and_one_that_fails_is_told_to_the_model(
    module: Any,
) -> None:
    tools = [module.refund, module.cancel_order]
    app = AgentFunctionApp(agents=[Agent(client=OfflineChatClient(), name="Joker", tools=tools)], environ=MEMORY)
    async with served(app) as (host, http):
        assert isinstance(host, DirectHost)
        paid = (await ask(http, 'Call refund with {"number": "A-17", "amount": 5}')).json()
        failed = (await ask(http, 'Call cancel_order with {"number": "B-1"}')).json()

    assert paid["response"] == "The tool says: 5 paid for A-17"
    assert [key.startswith(f"{paid['run_id']}-") for key in module.paid] == [True]
    assert failed["status"] == "success"
    assert "rror" in failed["response"]


@pytest.mark.behaviour("docs.tools")
async def test_a_tool_that_needs_approval_waits_for_it(module: Any) -> None:
    """It is not called before."""
    agent = Agent(client=OfflineChatClient(), name="Joker", tools=[module.delete_order])
    async with served(AgentFunctionApp(agents=[agent], environ=MEMORY)) as (_, http):
        waiting = (await ask(http, 'Call delete_order with {"number": "A-17"}')).json()

    assert [call["tool"] for call in waiting["pending_approvals"]] == ["delete_order"]
    assert module.ORDERS == {"A-17": "shipped on Monday"}


ADDRESS = Address.of("Helper", "t1")


@pytest.fixture
def hub() -> str:
    """The name of a task hub that no other test has."""
    return f"hub{uuid.uuid4().hex[:8]}"


@pytest.fixture
async def log(redis_server: RedisServer, hub: str) -> AsyncIterator[ThreadLog]:
    """The threads' log in the session's server."""
    opened = ThreadLog(RedisThreadStore(redis_server.url, hub), MemoryObjects(), hub)
    yield opened
    await opened.close()


@pytest.mark.behaviour("streams.redis")
async def test_the_lines_on_the_page_follow_a_run_to_its_end(
    log: ThreadLog, redis_server: RedisServer, hub: str
) -> None:
    """What is there, what comes while they wait, and no more: another run's end is not its own."""
    printed, seen, loop = list[Any](), asyncio.Event(), asyncio.get_running_loop()

    def note(event: Any) -> None:
        printed.append(event)
        loop.call_soon_threadsafe(seen.set)

    (lines,) = code(page("docs/reference/streaming.md"), "python")
    names = {"redis": redis, "json": json, "url": redis_server.url, "hub": hub, "print": note}
    names |= {"agent": ADDRESS.agent, "thread_id": ADDRESS.thread_id, "run_id": "r2"}
    await log.execute(ADDRESS, accept("r1", claimed=True))
    await log.execute(ADDRESS, end("r1"))
    reading = asyncio.ensure_future(asyncio.to_thread(exec, lines, names))
    await asyncio.wait_for(seen.wait(), GUARD_SECONDS)

    await log.execute(ADDRESS, accept("r2", claimed=True))
    await log.execute(ADDRESS, end("r2"))
    await asyncio.wait_for(reading, GUARD_SECONDS)

    assert printed == [json.loads(encode(event)) for _, event in await log.events(ADDRESS, 0)]
