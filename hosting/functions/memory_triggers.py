"""The HTTP triggers of agents' facts about callers."""

from __future__ import annotations

from urllib.parse import quote

from hosting.core.services import Services
from hosting.errors import UnknownFactError
from hosting.functions.answering import HttpRequest, Served, serves
from hosting.http import memory_routes
from hosting.http.memory_routes import fact_reply, facts_reply
from hosting.http.owner_call import parse_fact
from hosting.http.replies import Reply
from hosting.memory import Fact
from hosting.names import new_id
from hosting.settings import Settings


def register_memory(served: Served, services: Services, settings: Settings) -> None:
    """Register the routes of all agents' memories; of an agent without one they show an empty list."""
    memories = services.memories

    async def text_of(request: HttpRequest) -> str:
        return await request.parsed(lambda raw: parse_fact(raw, settings.max_body_bytes))

    @serves(served, memory_routes.FACTS)
    async def facts(request: HttpRequest) -> Reply:
        return facts_reply(await memories.facts(request.agent.name, request.caller.owner))

    @serves(served, memory_routes.REMEMBER)
    async def remember(request: HttpRequest) -> Reply:
        agent, text = request.agent.name, await text_of(request)
        wanted = Fact(id=new_id(), text=text, at=memories.now())
        known = await memories.remember(agent, request.caller.owner, wanted)
        url = f"{request.base_url}/agents/{quote(agent)}/memory/{known.id}"
        return fact_reply(known, url if known.id == wanted.id else None)

    @serves(served, memory_routes.REPLACE)
    async def replace(request: HttpRequest) -> Reply:
        agent, text = request.agent.name, await text_of(request)
        wanted = Fact(id=request.fact_id, text=text, at=memories.now())
        if not await memories.replace(agent, request.caller.owner, wanted):
            raise UnknownFactError(f"Agent {agent!r} has no fact with the id {wanted.id!r}.")
        return fact_reply(wanted)

    @serves(served, memory_routes.FORGET)
    async def forget(request: HttpRequest) -> Reply:
        await memories.forget(request.agent.name, request.caller.owner, request.fact_id)
        return Reply(204, "", None)

    @serves(served, memory_routes.FORGET_ALL)
    async def erase(request: HttpRequest) -> Reply:
        await memories.erase((request.agent.name,), request.caller.owner)
        return Reply(204, "", None)
