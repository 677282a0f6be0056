"""The files of agent-framework's providers, kept with the thread or the workflow, of one owner alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    ContextProvider,
    FileAccessProvider,
    FileMemoryProvider,
    FileSystemAgentFileStore,
    Workflow,
    WorkflowBuilder,
    workflow,
)

from hosting.core.retention import DAY_SECONDS
from hosting.core.thread_log import epoch_store_key
from hosting.names import Address
from hosting.offline.model import OfflineChatClient
from state.codec import read as parse
from state.extension import host_of
from tests.support.owned_app import THREADS, OwnedApp, owner

PLAN = "plan.md"
SHORT, LONG, OTHER = "First the tickets.", "Kilometre by kilometre." * 40, "Mile by mile." * 60
ADDRESS = Address.of("Clerk", "t", owner("ada"))


def clerk(*providers: Any) -> Agent[Any]:
    """Return an agent with these providers, whose model calls the tool that it is told to."""
    return Agent(client=OfflineChatClient(), name="Clerk", context_providers=list(providers))


def keeper(folder: Path) -> Agent[Any]:
    """Return an agent with a memory of files in a folder of the disk, as its author wrote it."""
    return clerk(FileMemoryProvider(FileSystemAgentFileStore(folder)))


def call(tool: str, **arguments: Any) -> str:
    """Return the message that has the offline model call a tool."""
    return f"Call {tool} with {json.dumps(arguments)}"


def write(content: str, name: str = PLAN, **options: Any) -> str:
    return call("file_memory_write", file_name=name, content=content, **options)


def read(name: str = PLAN) -> str:
    return call("file_memory_read", file_name=name)


async def sweep(app: OwnedApp, days: float = 1.0) -> None:
    """Have old records and unused uploads swept, so many days from now."""
    services, clocks = app.app._services, app.app._services.log.clocks
    [document] = map(json.dumps, (await app.stored()).values())
    mark = host_of(parse(document)).log_mark
    assert mark is not None
    services.log.clocks = type(clocks)(wall=lambda: clocks.wall() + days * DAY_SECONDS, awake=clocks.awake)
    await services.retention.trim(ADDRESS, mark)
    await services.deletion.erase_unused(ADDRESS, document)
    services.log.clocks = clocks


@pytest.mark.behaviour("files.with-the-thread")
async def test_files_of_a_session_are_written_edited_searched_and_deleted(tmp_path: Path) -> None:
    """In folders too, by a `FileAccessProvider`: its tools do what they do on the disk."""
    access = FileAccessProvider(
        FileSystemAgentFileStore(tmp_path / "files"),
        session_scoped=True,
        disable_readonly_tool_approval=True,
        disable_write_tool_approval=True,
    )
    app = OwnedApp(agent=clerk(access))
    said = [
        (await app.say("ada", call(f"file_access_{tool}", **arguments)))["response"].removeprefix("The tool says: ")
        for tool, arguments in (
            ("write", {"file_name": "trips/paris.md", "content": LONG}),
            ("write", {"file_name": "trips/paris.md", "content": SHORT}),
            ("write", {"file_name": "trips", "content": SHORT}),
            ("write", {"file_name": "trips/paris.md/more", "content": SHORT}),
            ("write", {"file_name": "../paris.md", "content": SHORT}),
            ("replace", {"file_name": "trips/paris.md", "old_string": LONG, "new_string": "By train"}),
            ("ls", {}),
            ("grep", {"regex_pattern": "TRAIN"}),
            ("delete", {"file_name": "trips/paris.md"}),
            ("ls", {}),
        )
    ]

    assert said[:2] == [
        "File 'trips/paris.md' written.",
        "File 'trips/paris.md' already exists. To replace it, write again with overwrite set to true.",
    ]
    assert "already a directory" in said[2]
    assert "already a file" in said[3]
    assert "must not contain '.' or '..'" in said[4]
    assert said[5] == "Replaced 1 occurrence(s) in 'trips/paris.md'."
    assert json.loads(said[6]) == [{"name": "trips", "type": "directory"}]
    assert [found["file_name"] for found in json.loads(said[7])] == ["trips/paris.md"]
    assert said[8:] == ["File 'trips/paris.md' deleted.", "[]"]
    assert not (tmp_path / "files").exists()


@pytest.mark.behaviour("files.forked")
async def test_a_fork_has_the_files_of_where_it_begins(tmp_path: Path) -> None:
    """Of its origin's end, or of an earlier run, also when its origin has other ones since, or is deleted."""
    app = OwnedApp(agent=keeper(tmp_path))
    first = await app.say("ada", write(LONG))
    await app.say("ada", write(OTHER))
    await sweep(app)
    for thread_id, body in (("earlier", {"at": first["run_id"]}), ("whole", {})):
        forked = await app.ask("ada", "POST", f"{THREADS}/t/fork", json={"thread_id": thread_id, **body})
        assert forked.status_code == 201, forked.text
    await app.ask("ada", "DELETE", f"{THREADS}/t")
    await app.stored()

    contents = [(await app.say("ada", read(), thread_id))["response"] for thread_id in ("earlier", "whole")]

    assert contents == [f"The tool says: {content}" for content in (LONG, OTHER)]


@pytest.mark.behaviour("files.swept")
async def test_a_sweep_takes_what_no_file_has_and_leaves_the_rest(tmp_path: Path) -> None:
    """The content of an attempt whose step was never recorded, and an older content once the runs' records are gone."""
    app = OwnedApp(agent=keeper(tmp_path))
    await app.say("ada", write(LONG))
    await app.say("ada", write(OTHER))
    stores = app.app._services.stores
    key = epoch_store_key(stores.hub, ADDRESS, 0)
    of_files = [*await stores.attachments.names(key)]
    await stores.attachments.put(key, {"f" * 64: b"of a killed attempt"})

    await sweep(app)
    with_records = [*await stores.attachments.names(key)]
    await sweep(app, days=99)
    without_records = [*await stores.attachments.names(key)]

    assert with_records == of_files
    assert without_records == of_files[1:]
    assert (await app.say("ada", read()))["response"] == f"The tool says: {OTHER}"


@pytest.mark.behaviour("files.own-stores")
async def test_an_agent_that_is_run_by_hand_keeps_its_store(tmp_path: Path) -> None:
    agent = keeper(tmp_path / "files")
    OwnedApp(agent=agent)

    await agent.run(write(SHORT), session=agent.create_session(session_id="by-hand"))

    assert (tmp_path / "files" / "by-hand" / PLAN).read_text() == SHORT


RUN = "/api/workflows/Flow/run"
LONG = "Kilometre by kilometre." * 40


def writer(*providers: ContextProvider) -> Agent[Any]:
    """Return an agent with these providers, whose model calls the tool that it is told to."""
    return Agent(client=OfflineChatClient(), name="Writer", context_providers=providers)


def graph(agent: Agent[Any]) -> Workflow:
    return WorkflowBuilder(name="Flow", start_executor=agent).build()


def given_graph(provider: Callable[[], ContextProvider]) -> Any:
    return graph(writer(provider()))


def function(provider: Callable[[], ContextProvider]) -> Any:
    agent = writer(provider())

    @workflow(name="Flow")
    async def flow(text: str) -> str:
        return (await agent.run(text)).text

    return flow


async def run(app: OwnedApp, user: str, message: str, thread_id: str = "t") -> str:
    answer = await app.ask(user, "POST", RUN, json={"message": message, "thread_id": thread_id})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["response"])


@pytest.mark.behaviour("files.of-workflows")
@pytest.mark.filterwarnings("ignore:.*experimental")
@pytest.mark.parametrize("flow", [given_graph, function])
async def test_shared_files_of_a_workflow_s_agent_are_its_owner_s(flow: Callable[..., Any], tmp_path: Path) -> None:
    """In all threads of the owner with the workflow, over those that were deployed; they are exported and erased."""
    (tmp_path / "about.md").write_text("About us")
    asks = {"disable_readonly_tool_approval": True, "disable_write_tool_approval": True}
    app = OwnedApp(workflows=[flow(lambda: FileAccessProvider(FileSystemAgentFileStore(tmp_path), **asks))])
    async with app.http:
        await run(app, "ada", call("file_access_write", file_name="a.md", content=LONG))
        [read, other, deployed] = [
            await run(app, user, call("file_access_read", file_name=name), "another")
            for user, name in (("ada", "a.md"), ("bob", "a.md"), ("ada", "about.md"))
        ]
        exported = (await app.ask("ada", "GET", "/api/owners/me/export")).json()["files"]
        await app.ask("ada", "DELETE", "/api/owners/me")
        left = await run(app, "ada", call("file_access_read", file_name="a.md"))

    assert (LONG in read, LONG in other, "About us" in deployed, LONG in left) == (True, False, True, False)
    assert exported == {"Flow": {"file_access": {"a.md": LONG}}}
    assert [path.name for path in tmp_path.iterdir()] == ["about.md"]
