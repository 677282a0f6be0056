"""The routes of an agent's facts about the caller, with their bodies and handlers (docs/guides/memory.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import TypedDict

from hosting.core.request.fields import read_text
from hosting.errors import InvalidFieldError
from hosting.features.memory.facts import Memories, MemoryFullError, UnknownFactError
from hosting.features.memory.provider import LONGEST_FACT, Fact, fact_refusal
from hosting.http import places
from hosting.http.parameters import in_path
from hosting.http.replies import Reply, json_reply
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import LOG, Header, ResponseSpec, Route, ok
from hosting.http.run_call import JsonBody, RawRequest
from hosting.names import new_id
from hosting.ports import iso
from hosting.strict_json.parsing import Schema


class ShownFact(TypedDict):
    """A fact that an agent remembers about the caller since `at` (RFC 3339).

    The run and thread in which the agent learned it are null if a person wrote it.
    """

    fact_id: str
    text: str
    at: str
    thread_id: str | None
    run_id: str | None


class FactList(TypedDict):
    """The facts that an agent remembers about the caller, oldest first."""

    facts: list[ShownFact]


FACT_FIELDS: Mapping[str, Schema] = {
    "text": {"type": "string", "minLength": 1, "maxLength": LONGEST_FACT, "description": "One short sentence."}
}
FACT = JsonBody(FACT_FIELDS, tuple(FACT_FIELDS), '{"text": "Drinks tea without milk."}')

_FACTS = places.AGENT.below("memory")
_FACT = _FACTS.below("{fact_id}", in_path("fact_id", "The fact.", UnknownFactError, pattern=None))
FACTS = Route(
    "memory",
    "GET",
    _FACTS,
    "List the facts that the agent remembers of the caller",
    ok(FactList),
    LOG,
    is_for_workflows=False,
)
REMEMBER = Route(
    "memory_add",
    "POST",
    _FACTS,
    "Add a fact about the caller",
    (
        ResponseSpec(201, "The fact.", ShownFact, (Header("Location", "The URL to replace or delete the fact."),)),
        ResponseSpec(200, "The agent remembers this fact already.", ShownFact),
    ),
    (MemoryFullError, *LOG),
    body=FACT,
    needs="own",
    is_for_workflows=False,
)
REPLACE = Route(
    "memory_replace",
    "POST",
    _FACT,
    "Replace a fact about the caller",
    (ResponseSpec(200, "The fact.", ShownFact),),
    (MemoryFullError, *LOG),
    body=FACT,
    needs="own",
    is_for_workflows=False,
)
FORGET = Route(
    "memory_forget",
    "DELETE",
    _FACT,
    "Delete a fact about the caller",
    (ResponseSpec(204, "Deleted, or not found."),),
    LOG,
    needs="own",
    is_for_workflows=False,
)
FORGET_ALL = Route(
    "memory_erase",
    "DELETE",
    _FACTS,
    "Delete all facts about the caller",
    (ResponseSpec(204, "Deleted, or not found."),),
    LOG,
    needs="own",
    is_for_workflows=False,
)


class MemoryHandlers:
    """The handlers of the routes of all agents' memories. For an agent without one they show an empty list."""

    def __init__(self, memories: Memories, most_bytes: int) -> None:
        """A body has `most_bytes` at most."""
        self._memories = memories
        self._most_bytes = most_bytes

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return (
            Bound(FACTS, self._list),
            Bound(REMEMBER, self._remember),
            Bound(REPLACE, self._replace),
            Bound(FORGET, self._forget),
            Bound(FORGET_ALL, self._erase),
        )

    async def _list(self, request: HttpRequest) -> Reply:
        facts = await self._memories.facts(request.agent.name, request.caller.owner)
        body: FactList = {"facts": [fact_fields(fact) for fact in facts]}
        return json_reply(200, body)

    async def _remember(self, request: HttpRequest) -> Reply:
        agent, text = request.agent.name, await self._text(request)
        fact = Fact(id=new_id(), text=text, at=self._memories.now())
        stored = await self._memories.remember(agent, request.caller.owner, fact)
        if stored.id != fact.id:
            return json_reply(200, fact_fields(stored))
        return json_reply(201, fact_fields(stored), {"location": f"{request.agent_url}/memory/{stored.id}"})

    async def _replace(self, request: HttpRequest) -> Reply:
        agent, text = request.agent.name, await self._text(request)
        fact = Fact(id=request.id("fact", UnknownFactError), text=text, at=self._memories.now())
        if not await self._memories.replace(agent, request.caller.owner, fact):
            raise UnknownFactError(f"Agent {agent!r} has no fact with the id {fact.id!r}.")
        return json_reply(200, fact_fields(fact))

    async def _forget(self, request: HttpRequest) -> Reply:
        fact_id = request.id("fact", UnknownFactError)
        await self._memories.forget(request.agent.name, request.caller.owner, fact_id)
        return Reply(204, "", None)

    async def _erase(self, request: HttpRequest) -> Reply:
        await self._memories.erase((request.agent.name,), request.caller.owner)
        return Reply(204, "", None)

    async def _text(self, request: HttpRequest) -> str:
        return await request.parsed(lambda raw: parse_fact(raw, self._most_bytes))


def parse_fact(call: RawRequest, most_bytes: int) -> str:
    """Return the fact to remember; raise a `HostingError` for a body that holds none."""
    text = read_text("text", FACT.read(call, most_bytes).get("text"))
    if refusal := fact_refusal(text):
        raise InvalidFieldError(f"The field 'text' is refused. {refusal}")
    return text.strip()


def fact_fields(fact: Fact) -> ShownFact:
    """Return a fact as it is shown."""
    return {
        "fact_id": fact.id,
        "text": fact.text,
        "at": iso(fact.at),
        "thread_id": fact.thread_id,
        "run_id": fact.run_id,
    }
