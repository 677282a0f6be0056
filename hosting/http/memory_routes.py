"""The routes of an agent's facts about the caller, and their answers (docs/guides/memory.md)."""

from __future__ import annotations

from collections.abc import Iterable

from hosting import errors
from hosting.http.owner_bodies import FactList, ShownFact
from hosting.http.owner_call import FACT
from hosting.http.parameters import in_path
from hosting.http.replies import Reply, json_reply
from hosting.http.route import LOG, Header, ResponseSpec, Route, ok
from hosting.memory import Fact
from hosting.ports import iso

_PATH = "agents/{name}/memory"
_ONE = f"{_PATH}/{{fact_id}}"
_ID = (in_path("fact_id", "The fact.", errors.UnknownFactError, pattern=None),)
FACTS = Route(
    "http_memory",
    "GET",
    _PATH,
    "List the facts that the agent remembers of the caller",
    ok(FactList),
    LOG,
    is_for_workflows=False,
)
REMEMBER = Route(
    "http_memory_add",
    "POST",
    _PATH,
    "Add a fact about the caller",
    (
        ResponseSpec(201, "The fact.", ShownFact, (Header("Location", "The URL to replace or delete the fact."),)),
        ResponseSpec(200, "The agent remembers this fact already.", ShownFact),
    ),
    (errors.MemoryFullError, *LOG),
    body=FACT,
    needs="own",
    is_for_workflows=False,
)
REPLACE = Route(
    "http_memory_replace",
    "POST",
    _ONE,
    "Replace a fact about the caller",
    (ResponseSpec(200, "The fact.", ShownFact),),
    (errors.MemoryFullError, *LOG),
    _ID,
    FACT,
    needs="own",
    is_for_workflows=False,
)
FORGET = Route(
    "http_memory_forget",
    "DELETE",
    _ONE,
    "Delete a fact about the caller",
    (ResponseSpec(204, "Deleted, or not found."),),
    LOG,
    _ID,
    needs="own",
    is_for_workflows=False,
)
FORGET_ALL = Route(
    "http_memory_erase",
    "DELETE",
    _PATH,
    "Delete all facts about the caller",
    (ResponseSpec(204, "Deleted, or not found."),),
    LOG,
    needs="own",
    is_for_workflows=False,
)


def fact_reply(fact: Fact, url: str | None = None) -> Reply:
    """Return a fact; with a `url`, as the response to its creation."""
    fields = fact_fields(fact)
    return json_reply(200, fields) if url is None else json_reply(201, fields, {"location": url})


def facts_reply(facts: Iterable[Fact]) -> Reply:
    """Return the list of facts, the oldest first."""
    body: FactList = {"facts": [fact_fields(fact) for fact in facts]}
    return json_reply(200, body)


def fact_fields(fact: Fact) -> ShownFact:
    """Return a fact as it is shown."""
    return {
        "fact_id": fact.id,
        "text": fact.text,
        "at": iso(fact.at),
        "thread_id": fact.thread_id,
        "run_id": fact.run_id,
    }
