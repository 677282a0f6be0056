"""Whatever a feature keeps of an owner is exported and erased: no kind of cell and no space of a store is forgotten."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from agent_framework import FileAccessProvider, InMemoryAgentFileStore

import hosting
from hosting.app import Budget, FileSearch, Limit
from hosting.assembly import FEATURES
from hosting.feature import Feature
from hosting.names import store_space
from tests.support.hashed_words import HashedWords
from tests.support.owned_app import ISSUER, THREADS, OwnedApp, owner, signed_in
from tests.support.receiver import WEBHOOKS
from tests.support.rememberer import rememberer
from tests.support.simple_engine import SimpleEngine
from tests.support.stored_files import made_ready

pytestmark = pytest.mark.behaviour("owners.features")

CODE = Path(hosting.__file__).parent
OF_NO_OWNER = {"store", "searched"}
"""The kinds of cells that are the app's."""
KEPT = {"budget": "amounts by day", "limit": "numbers of requests by second"}
"""The kinds that an erasure leaves, with what they hold: an owner that could remove them would have no limit.

They hold nothing that anybody said, and are in no export (docs/contributing/stored-names.md).
"""
SPACES = {
    "log": "threads",
    "deleted": "receipts of threads",
    "promised": "runs",
    "not-taken": "runs",
    "swept": "timers",
    "files": "owners",
    "file-index": "owners",
    "file-search": "owners",
    "feedback": "owners",
    "feedback-noted": "threads",
    "put-noted": "threads",
    "unsearched": "threads",
    "uploads": "owners",
    "uploads-due": "owners",
}
"""The spaces of the object stores, with what their keys name. What is a thread's goes with it (test_inventory.py),
and what is an owner's with the cells."""


def cell_kinds() -> Iterator[tuple[str, Path]]:
    """Yield the name of each kind of cell in the code, and the file that declares it."""
    for path in sorted(CODE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "CellKind" in source else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("CellKind", "CellKind.of_model"):
                name = node.args[0]
                if isinstance(name, ast.Constant):  # else it is the class's own
                    yield name.value, path


KINDS = dict(cell_kinds())
OWNED = KINDS.keys() - OF_NO_OWNER


KEEPS_NO_INPUT = {
    "callbacks": "Its operation takes ids, and its entity has no state.",
    "health": "Its entity keeps which stores the app has.",
}
"""Features with functions of the durable engine that keep nothing."""


def feature_of(path: Path) -> str:
    """Return the feature whose folder has this file, nothing for a file of another room."""
    parts = path.relative_to(CODE).parts
    return parts[1] if parts[0] == "features" else ""


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_a_feature_that_keeps_something_says_how_it_is_exported_and_erased(feature: type[Feature]) -> None:
    kinds = {name for name, path in KINDS.items() if feature_of(path) == feature.name} - OF_NO_OWNER - KEPT.keys()
    keeps = bool(kinds) or (feature.durable is not Feature.durable and feature.name not in KEEPS_NO_INPUT)
    says = feature.owner_data is not Feature.owner_data or feature.thread_data is not Feature.thread_data

    assert not keeps or says, f"{feature.name} keeps {kinds} and says nothing"


def test_each_space_of_the_object_stores_is_known() -> None:
    spaces = get_type_hints(store_space)["holds"]

    assert set(get_args(spaces)) == SPACES.keys()


async def kept_of(app: OwnedApp, name: str) -> Mapping[str, object]:
    """Return the cells that the stores have of an owner, by their kinds."""
    store = app.app._services.stores.threads
    cells = {
        kind: [head for agent in ("clerk", "app") for head in await store.heads(f"{agent}.{kind}", owner(name), "", 9)]
        for kind in OWNED
    }
    return {kind: heads for kind, heads in cells.items() if heads}


async def test_an_owner_who_used_everything_gets_all_of_it_and_leaves_nothing(tmp_path: Path) -> None:
    """Each kind of cell in the code is written by this life: a kind that is new fails here until it has its part.

    The app has its own index of threads first, and then a search engine.
    """
    access = FileAccessProvider(InMemoryAgentFileStore(), disable_write_tool_approval=True)
    stored, engine = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}, SimpleEngine()
    first = OwnedApp(signed_in, **stored)
    async with first.http:
        await first.say("ada", "About coffee", "earlier")
        await first.ask("ada", "GET", "/api/threads?search=coffee")
        await first.stored()
    app = OwnedApp(
        signed_in,
        agent=rememberer(others=[access, FileSearch(embeddings=HashedWords())]),
        budget=Budget(tokens=10**9, per="owner/day"),
        limit=Limit(requests_per_minute=99),
        search=engine,
        **{**WEBHOOKS, **stored},
    )
    app.host.entities.take_over(first.host.entities)
    async with app.http:
        await app.say("ada", "remember Likes tea")
        await app.say("ada", "write Drinks it green")
        schedule = {"cron": "0 9 * * 1-5", "message": "Report"}
        created = await app.ask("ada", "POST", "/api/agents/Clerk/schedules", json=schedule)
        await app.ask("ada", "GET", "/api/agents/Clerk/figures")
        run_id = (await app.say("bob", "hello"))["run_id"]
        grant = {"issuer": ISSUER, "id": "ada", "access": "read"}
        given = (await app.ask("bob", "POST", f"{THREADS}/t/grants", json=grant)).json()["grant"]
        feedback = {"score": 1, "comment": "Found by Ada"}
        await app.ask("ada", "POST", f"/api/shared/{given}/runs/{run_id}/feedback", json=feedback)
        await app.ask("ada", "GET", "/api/threads?search=tea")
        for path in ("/api/files", f"{THREADS}/t/files"):
            await app.ask("ada", "POST", path, params={"name": "leaves.txt"}, content=b"Green, from Ceylon")
        await made_ready(app.app, app.host.entities.clocks)
        written, handed = await kept_of(app, "ada"), len(engine.texts)
        export = (await app.ask("ada", "GET", "/api/owners/me/export")).json()
        erased = await app.ask("ada", "DELETE", "/api/owners/me")
        left = await kept_of(app, "ada")
        stores = app.app._services.stores
        contents = [
            await stores.attachments.put_between(store_space(stores.hub, space), 0, 1e12)
            for space in ("files", "uploads", "uploads-due", "file-index", "file-search")
        ]
        rated = (await app.ask("bob", "GET", f"{THREADS}/t/feedback")).json()["feedback"]
        nothing = (await app.ask("ada", "GET", "/api/owners/me/export")).json()

    assert created.status_code == 201, created.text
    assert written.keys() == OWNED
    assert (erased.status_code, left.keys()) == (200, KEPT.keys())
    members = {name for name, value in export.items() if value and name not in ("owner", "next_cursor")}
    assert members == {"threads", *(name for name in export if name not in ("owner", "next_cursor"))}
    assert ("Likes tea" in json.dumps(export), "Drinks it green" in json.dumps(export)) == (True, True)
    assert "Found by Ada" in json.dumps(export)
    assert (contents, rated) == ([[]] * 5, [])
    assert (handed > 0, engine.texts) == (True, {})
    assert [file["index"]["status"] for files in export["uploads"].values() for file in files] == ["ready"] * 2
    assert [len(files) for files in export["uploads"].values()] == [1, 1]
    assert [value for name, value in nothing.items() if name != "owner" and value] == []
