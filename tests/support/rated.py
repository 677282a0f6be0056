"""Feedback on runs of Ada's threads, and the names under which stores have it."""

from __future__ import annotations

from hosting.app import AgentFunctionApp
from hosting.core.thread_log import epoch_store_key
from hosting.names import Address, StoreKey, store_space
from tests.support.owned_app import ISSUER, THREADS, OwnedApp

GOOD = {"score": 1, "label": "helpful", "comment": "It found the invoice."}


async def path_of(owned: OwnedApp, message: str = "hello", thread_id: str = "t") -> str:
    """Return where feedback on a new run of Ada's is."""
    run_id = (await owned.say("ada", message, thread_id))["run_id"]
    return f"{THREADS}/{thread_id}/runs/{run_id}/feedback"


async def shared(owned: OwnedApp, path: str, who: str = "bob") -> str:
    """Return the same place for a person with whom Ada shares the thread, to read it."""
    grant = {"issuer": ISSUER, "id": who, "access": "read"}
    given = await owned.ask("ada", "POST", f"{path.partition('/runs/')[0]}/grants", json=grant)
    return f"/api/shared/{given.json()['grant']}/runs/{path.partition('/runs/')[2]}"


async def kept(app: AgentFunctionApp) -> list[tuple[str, str]]:
    """Return all names that stand in the spaces of feedback."""
    stores = app._services.stores
    spaces = [store_space(stores.hub, "feedback"), store_space(stores.hub, "feedback-noted")]
    keys = [(space, key) for space in spaces for _, key in await stores.attachments.put_between(space, 0, 1e12)]
    return [(key, name) for space, key in keys for name in await stores.attachments.names(StoreKey(space, key))]


async def records(app: AgentFunctionApp, address: Address) -> list[str]:
    """Return the names of the records of feedback on a thread's first life."""
    stores = app._services.stores
    return [*await stores.attachments.names(epoch_store_key(stores.hub, address, 0), "feedback-")]
