"""Files that a provider shares between threads: an owner's, over those that were deployed with the app."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentFileStore,
    FileAccessProvider,
    FileSystemAgentFileStore,
    InMemoryAgentFileStore,
)

from hosting.names import StoreKey
from hosting.offline.model import OfflineChatClient
from tests.support.owned_app import ISSUER, THREADS, OwnedApp, owner

pytestmark = pytest.mark.behaviour("files.of-owners")

PRICES = "Paris: 40 EUR"
SAYS = "The tool says: "


def access(store: AgentFileStore, **options: Any) -> FileAccessProvider:
    """Return a provider whose files are of all threads, and whose tools ask nobody."""
    asks = {"disable_readonly_tool_approval": True, "disable_write_tool_approval": True}
    return FileAccessProvider(store, **{**asks, **options})


def clerk(*providers: Any) -> Agent[Any]:
    """Return an agent with these providers, whose model calls the tool that it is told to."""
    return Agent(client=OfflineChatClient(), name="Clerk", context_providers=list(providers))


@pytest.fixture
def deployed(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "prices").mkdir(parents=True)
    (folder / "prices" / "trains.md").write_text(PRICES)
    (folder / "about.md").write_text("About us")
    return folder


async def call(app: OwnedApp, user: str, tool: str, thread_id: str = "t", **arguments: Any) -> str:
    """Return what a tool of the provider says to a user's agent."""
    name = tool if "_" in tool else f"file_access_{tool}"
    said = await app.say(user, f"Call {name} with {json.dumps(arguments)}", thread_id)
    return str(said["response"]).removeprefix(SAYS)


async def test_a_file_is_in_all_threads_of_its_owner_and_in_no_other_owner_s(
    deployed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hosting.features.files.provider")
    app = OwnedApp(agent=clerk(access(FileSystemAgentFileStore(deployed))))
    written = await call(app, "ada", "write", file_name="notes/ada.md", content="By train")

    ada = await call(app, "ada", "read", "other", file_name="notes/ada.md")
    bob = [await call(app, "bob", tool, **arguments) for tool, arguments in ASKS]

    assert (written, ada) == ("File 'notes/ada.md' written.", "By train")
    assert bob == [
        "File 'notes/ada.md' not found.",
        "File 'notes/ada.md' not found.",
        json.dumps([{"name": "prices", "type": "directory"}, {"name": "about.md", "type": "file"}]),
        "[]",
    ]
    assert sorted(path.name for path in deployed.rglob("*.md")) == ["about.md", "trains.md"]
    assert [record.getMessage() for record in caplog.records if record.name.startswith("hosting.features.files")] == [
        "The files of 'file_access' are kept for each owner, over those of FileSystemAgentFileStore."
    ]


ASKS: list[tuple[str, dict[str, Any]]] = [
    ("read", {"file_name": "notes/ada.md"}),
    ("delete", {"file_name": "notes/ada.md"}),
    ("ls", {}),
    ("grep", {"regex_pattern": "train$"}),
]


async def test_deployed_files_are_read_by_everybody_and_changed_for_one_owner(deployed: Path) -> None:
    """A file that the owner overwrote, edited or deleted is the owner's; the others read the deployed one."""
    app = OwnedApp(agent=clerk(access(FileSystemAgentFileStore(deployed))))
    trains, about = "prices/trains.md", "about.md"
    said = [
        await call(app, "ada", tool, **arguments)
        for tool, arguments in (
            ("read", {"file_name": trains}),
            ("grep", {"regex_pattern": "eur"}),
            ("write", {"file_name": trains, "content": "x"}),
            ("replace", {"file_name": trains, "old_string": "40", "new_string": "50"}),
            ("read", {"file_name": trains}),
            ("ls", {"directory": "prices"}),
            ("delete", {"file_name": about}),
            ("delete", {"file_name": about}),
            ("read", {"file_name": about}),
            ("ls", {}),
            ("write", {"file_name": "prices", "content": "x"}),
            ("write", {"file_name": f"{trains}/more", "content": "x"}),
            ("write", {"file_name": about, "content": "Mine"}),
            ("delete", {"file_name": trains}),
            ("read", {"file_name": trains}),
        )
    ]
    bob = [await call(app, "bob", "read", file_name=name) for name in (trains, about)]
    mine = await call(app, "ada", "read", "another", file_name=about)

    assert said[0] == PRICES
    assert [found["file_name"] for found in json.loads(said[1])] == [trains]
    assert "already exists" in said[2]
    assert said[3:5] == [f"Replaced 1 occurrence(s) in '{trains}'.", "Paris: 50 EUR"]
    assert json.loads(said[5]) == [{"name": "trains.md", "type": "file"}]
    assert said[6:9] == [f"File '{about}' deleted.", f"File '{about}' not found.", f"File '{about}' not found."]
    assert json.loads(said[9]) == [{"name": "prices", "type": "directory"}]
    assert "already a directory" in said[10]
    assert "already a file" in said[11]
    assert said[12:] == [f"File '{about}' written.", f"File '{trains}' deleted.", f"File '{trains}' not found."]
    assert (bob, mine) == ([PRICES, "About us"], "Mine")
    assert (deployed / trains).read_text() == PRICES


@pytest.mark.behaviour("files.exported")
async def test_files_are_exported_and_erased_with_their_owner(deployed: Path) -> None:
    """With those that the owner deleted, as null. No content is left; the other owner has all."""
    app = OwnedApp(agent=clerk(access(FileSystemAgentFileStore(deployed))))
    for user in ("ada", "bob"):
        await call(app, user, "write", file_name="a.md", content=f"of {user}")
    await call(app, "ada", "delete", file_name="about.md")
    stores = app.app._services.stores
    keys = [StoreKey(f"{stores.hub}.files", f"clerk.files.{owner(user)}~index") for user in ("ada", "bob")]

    export = (await app.ask("ada", "GET", "/api/owners/me/export")).json()
    await app.ask("ada", "DELETE", f"{THREADS}/t")
    kept = await call(app, "ada", "read", "u", file_name="a.md")
    before = [len(await stores.attachments.names(key)) for key in keys]
    receipt = (await app.ask("ada", "DELETE", "/api/owners/me")).json()
    again = (await app.ask("ada", "DELETE", "/api/owners/me")).json()
    after = [len(await stores.attachments.names(key)) for key in keys]
    nothing = (await app.ask("ada", "GET", "/api/owners/me/export")).json()

    assert export["files"] == {"Clerk": {"file_access": {"a.md": "of ada", "about.md": None}}}
    assert (kept, receipt["files"], again.get("files")) == ("of ada", 1, None)
    assert (before, after, nothing["files"]) == ([1, 1], [0, 1], {})
    assert await call(app, "ada", "read", file_name="a.md") == "File 'a.md' not found."
    assert await call(app, "ada", "read", file_name="about.md") == "About us"
    assert await call(app, "bob", "read", file_name="a.md") == "of bob"


async def test_somebody_with_whom_a_thread_is_shared_has_no_files_of_its_owner() -> None:
    app = OwnedApp(agent=clerk(access(InMemoryAgentFileStore())))
    await call(app, "ada", "write", file_name="a.md", content="of ada")
    grant = {"issuer": ISSUER, "id": "bob", "access": "run"}
    shared = (await app.ask("ada", "POST", f"{THREADS}/t/grants", json=grant)).json()["grant"]

    body = {"message": 'Call file_access_read with {"file_name": "a.md"}'}
    answer = (await app.ask("bob", "POST", f"/api/shared/{shared}/run", json=body)).json()

    assert "of ada" not in json.dumps(answer)
