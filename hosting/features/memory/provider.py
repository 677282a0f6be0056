"""`OwnerMemory`: the facts that an agent learned about its owner, for its model in all their threads (memory.md).

Theory. A fact is a short text that belongs to an owner and an agent, and to no thread. The model adds and forgets facts
by two tools. Before a run it is given those that fit: all of them, or, where they are too many, those that are most
like the message by a client of embeddings, or share the rarest words with it where the app gives none. A fact's id is
made of the tool call that brought it, so a call that is made again after a crash finds its fact there.

A run that somebody else begins on a shared thread has no memory: nothing of the owner is given to it, or kept of it.
"""

from __future__ import annotations

import hashlib
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from agent_framework import (
    AgentSession,
    ContextProvider,
    SessionContext,
    SupportsAgentRun,
    SupportsGetEmbeddings,
    tool,
)
from pydantic import BaseModel, ConfigDict

from hosting.embeddings import Embedder, Vector, cosines, packed
from hosting.errors import ConfigurationError, HostingError
from hosting.tools import current, idempotent

logger = logging.getLogger(__name__)

LONGEST_FACT = 500
"""Characters."""
_CHARACTERS_OF_TOKEN = 4
_AROUND_FACT = 40
"""Characters that a fact's id and mark take."""
_ID_LENGTH = 32
_SHORTEST_WORD = 3
_NOTHING = "No facts are known about this person yet."
_TOO_MUCH = "More facts are known about this person than fit here."
_KNOWN = "Facts about this person, each with its id:"
_HOW = (
    "Call remember with one short sentence when the person mentions something that will matter in later conversations, "
    "and forget with an id when it is not true any more or the person wants it."
)


class Fact(BaseModel):
    """One thing that is known of an owner. `at` is when it was learnt or replaced, in seconds since 1970.

    `run_id` is that of the run on `thread_id` that learnt it; None where a person wrote it. `vector` is that of the
    text, made of it again whenever it is missing or another model's.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    text: str
    at: float
    thread_id: str | None = None
    run_id: str | None = None
    vector: Vector | None = None


class RunMemory(Protocol):
    """The memory of the owner of a run that goes on, from the loop that the agent runs on.

    Its methods raise `errors.HostingError`: `LogUnavailableError` where the store is away, `MemoryFullError`.
    """

    async def facts(self) -> Sequence[Fact]:
        """Return all facts, the oldest first."""

    async def remember(self, fact_id: str, text: str) -> Fact:
        """Return the stored fact: the new one, or the one with the same text."""

    async def forget(self, fact_id: str) -> bool:
        """Remove a fact for good, and return whether there was one: there is none where a killed try removed it."""

    async def keep_vectors(self, facts: Sequence[Fact]) -> None:
        """Keep the vectors of these facts with those of them that are there and say the same still."""


class OwnerMemory(ContextProvider):
    """A context provider that keeps an agent's facts about the owner of its threads, across threads.

    `max_tokens` is about how much of it the model is given, by four characters a token. `embeddings` finds those that
    are like the message where there are more. In an app that knows no owners all callers are one, so that what one of
    them says is known to the next: `shared=True` says that this is meant.
    Raises `ConfigurationError` for an option that is none, such as a client without `get_embeddings`.
    """

    def __init__(
        self,
        source_id: str = "owner_memory",
        *,
        max_tokens: int = 1000,
        shared: bool = False,
        embeddings: SupportsGetEmbeddings[Any, Any, Any] | None = None,
    ) -> None:
        if not isinstance(source_id, str) or not source_id.strip():
            raise ConfigurationError(
                f"source_id of OwnerMemory is {source_id!r:.80}. Give a name as a text, or leave it out."
            )
        if not isinstance(shared, bool):
            raise ConfigurationError(f"shared of OwnerMemory is {shared!r:.80}. Give True or False.")
        if type(max_tokens) is not int or max_tokens < 1:
            raise ConfigurationError(f"max_tokens of OwnerMemory is {max_tokens!r:.80}. Give a whole number from 1 on.")
        super().__init__(source_id)
        self.max_tokens, self.shared = max_tokens, shared
        self._embedder = None if embeddings is None else Embedder(embeddings, "embeddings of OwnerMemory")
        self._of_run: Callable[[], RunMemory | None] | None = None

    def attach(self, of_run: Callable[[], RunMemory | None]) -> None:
        """Have `of_run` return the memory of the run that calls it; None where it is to have none."""
        self._of_run = of_run

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Give the model the facts and the two tools."""
        if self._of_run is None:
            raise RuntimeError(
                "This agent has an OwnerMemory, and AgentFunctionApp did not get the agent. For an agent of a "
                "workflow, give the same agent in agents=[...] too."
            )
        memory = self._of_run()
        if memory is None:
            return
        asked = " ".join(message.text for message in context.input_messages)
        facts, nothing = await memory.facts(), _NOTHING
        if len(fitting(facts, self.max_tokens)) < len(facts):
            alike = None if self._embedder is None else await _alike(self._embedder, memory, facts, asked)
            facts = fitting(facts, self.max_tokens, alike or shared_words(facts, asked))
            nothing = _TOO_MUCH
        known = "\n".join([_KNOWN, *(f"- {fact.text} (id {fact.id})" for fact in facts)]) if facts else nothing
        context.extend_instructions(self.source_id, f"{known}\n{_HOW}")
        context.extend_tools(self.source_id, list(_tools(memory)))


def _tools(memory: RunMemory) -> Iterable[Any]:
    @idempotent
    @tool
    async def remember(fact: str) -> str:
        """Remember one short sentence about the person for later conversations."""
        if refusal := fact_refusal(fact):
            return refusal
        try:
            known = await memory.remember(fact_id_of(current().call_key), fact.strip())
        except HostingError as error:
            return f"Not remembered: {error.detail}"
        return f"Remembered as {known.id}."

    @idempotent
    @tool
    async def forget(fact_id: str) -> str:
        """Forget the fact with this id."""
        try:
            was_known = await memory.forget(fact_id)
        except HostingError as error:
            return f"Not forgotten: {error.detail}"
        return "Forgotten." if was_known else f"No fact has the id {fact_id[:80]!r}."

    return remember, forget


def fact_id_of(key: str) -> str:
    """Return the id of the fact that a tool call, or a request with that key, brings."""
    return hashlib.sha256(key.encode()).hexdigest()[:_ID_LENGTH]


def fact_refusal(text: str) -> str | None:
    """Return why a text is refused as a fact, as a sentence; None if it is accepted."""
    if not text.strip():
        return "The fact is blank. Send one short sentence."
    if len(text.strip()) > LONGEST_FACT:
        return f"The fact has {len(text.strip())} characters; {LONGEST_FACT} are the most. Send one short sentence."
    return None


async def _alike(embedder: Embedder, memory: RunMemory, facts: Sequence[Fact], message: str) -> list[float] | None:
    """Return how alike each fact is to the message; None where the client fails, which is no failure of the run."""
    if not message.strip():
        return None
    try:
        numbers, vectors = await _compared(embedder, facts, message)
        alike = cosines(numbers, vectors)
    except Exception as error:  # the client is the app's, and may raise anything
        logger.warning("The embedding client failed (%s). Facts are found by words.", type(error).__name__)
        return None
    compared = zip(facts, vectors, strict=True)
    made = [fact.model_copy(update={"vector": vector}) for fact, vector in compared if fact.vector != vector]
    if made:
        with suppress(HostingError):  # a store that is away: the next run makes them again
            await memory.keep_vectors(made)
    return alike


async def _compared(embedder: Embedder, facts: Sequence[Fact], message: str) -> tuple[Sequence[float], list[Vector]]:
    """Return the vector of the message and those of the facts, made where they are missing or another model's."""
    [(model, numbers)] = await embedder.embedded([message])
    own = (model, len(numbers))
    vectors = {fact.id: fact.vector for fact in facts if fact.vector is not None and fact.vector.is_of(*own)}
    missing = [fact for fact in facts if fact.id not in vectors]
    if missing:
        embedded = await embedder.embedded([fact.text for fact in missing])
        vectors.update((fact.id, packed(*one)) for fact, one in zip(missing, embedded, strict=True))
    if not all(vector.is_of(*own) for vector in vectors.values()):
        raise ValueError("embeddings of two models in one answer")
    return numbers, [vectors[fact.id] for fact in facts]


def shared_words(facts: Sequence[Fact], message: str) -> list[float]:
    """Return for each fact how much it shares with the message: the rarer a word among the facts, the more."""
    words = [_words(fact.text) for fact in facts]
    known_by = Counter(word for each in words for word in each)
    wanted = _words(message)
    return [sum(math.log(1 + len(facts) / known_by[word]) for word in each & wanted) for each in words]


def fitting(facts: Sequence[Fact], max_tokens: int, scores: Sequence[float] = ()) -> list[Fact]:
    """Return the facts that the model is given, the oldest first: all, or as many as fit, those of a high score first.

    Of facts with the same score the newest come first. One that is too long leaves its room to those after it.
    """
    ranked = sorted(range(len(facts)), key=lambda number: (scores[number] if scores else 0.0, number), reverse=True)
    left = max_tokens * _CHARACTERS_OF_TOKEN
    kept: list[int] = []
    for number in ranked:
        if (room := len(facts[number].text) + _AROUND_FACT) <= left:
            left -= room
            kept.append(number)
    return [facts[number] for number in sorted(kept)]


def _words(text: str) -> set[str]:
    spaced = "".join(one if one.isalnum() else " " for one in text.casefold())
    return {word for word in spaced.split() if len(word) >= _SHORTEST_WORD}
