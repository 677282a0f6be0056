"""`OwnerMemory`: what an agent learnt about its owner, given to its model in each of their threads (docs/memory.md).

Theory. A fact is a short text that belongs to an owner and an agent, and to no thread. The model adds and forgets facts
by two tools. Before a run it is given those that fit: all of them, or, where they are too many, those that share the
rarest words with the message. A fact's id is made of the tool call that brought it, so a call that is made again after
a crash finds its fact there.

A run that somebody else begins on a shared thread has no memory: nothing of the owner is given to it, or kept of it.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from agent_framework import AgentSession, ContextProvider, SessionContext, SupportsAgentRun, tool
from pydantic import BaseModel, ConfigDict

from hosting.errors import ConfigurationError, HostingError
from hosting.tools import current, idempotent

LONGEST_FACT = 500
"""Characters."""
_CHARACTERS_OF_TOKEN = 4
_AROUND_FACT = 40
"""Characters that a fact's id and mark take."""
_ID_LENGTH = 32
_SHORTEST_WORD = 3
_NOTHING = "Nothing is known of this person yet."
_KNOWN = "What is known of this person, each with its id:"
_HOW = (
    "Call remember with one short sentence when the person mentions something that will matter in later conversations, "
    "and forget with an id when it is not true any more or the person wants it."
)


class Fact(BaseModel):
    """One thing that is known of an owner. `at` is when it was learnt or replaced, in seconds since 1970.

    `run_id` is that of the run on `thread_id` that learnt it; None where a person wrote it.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    text: str
    at: float
    thread_id: str | None = None
    run_id: str | None = None


class RunMemory(Protocol):
    """The memory of the owner of a run that goes on, from the loop that the agent runs on.

    Its methods raise `errors.HostingError`: `LogUnavailableError` where the store is away, `MemoryFullError`.
    """

    async def facts(self) -> Sequence[Fact]:
        """Return all facts, the oldest first."""

    async def remember(self, fact_id: str, text: str) -> Fact:
        """Return the fact, which is there from now on; the one that says the same, where there is one."""

    async def forget(self, fact_id: str) -> bool:
        """Remove a fact for good, and return whether there was one of that id."""


class OwnerMemory(ContextProvider):
    """A context provider that keeps what an agent learns about the owner of its threads, across threads.

    `max_tokens` is about how much of it the model is given, by four characters a token. In an app that knows no owners
    all callers are one, so that what one of them says is known to the next: `shared=True` says that this is meant.
    Raises `ConfigurationError` for a number of tokens that is none.
    """

    def __init__(self, source_id: str = "owner_memory", *, max_tokens: int = 1000, shared: bool = False) -> None:
        if type(max_tokens) is not int or max_tokens < 1:
            raise ConfigurationError(f"max_tokens of OwnerMemory is {max_tokens!r:.80}. Give a whole number from 1 on.")
        super().__init__(source_id)
        self.max_tokens, self.shared = max_tokens, shared
        self._of_run: Callable[[], RunMemory | None] | None = None

    def attach(self, of_run: Callable[[], RunMemory | None]) -> None:
        """Have `of_run` return the memory of the run that calls it; None where it is to have none."""
        self._of_run = of_run

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Give the model what is known, and the two tools."""
        if self._of_run is None:
            raise RuntimeError("OwnerMemory is for agents that are given to AgentFunctionApp, and not for workflows.")
        memory = self._of_run()
        if memory is None:
            return
        asked = " ".join(message.text for message in context.input_messages)
        facts = chosen(await memory.facts(), asked, self.max_tokens)
        known = "\n".join([_KNOWN, *(f"- {fact.text} (id {fact.id})" for fact in facts)]) if facts else _NOTHING
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
            return f"It was not remembered: {error.detail}"
        return f"Remembered as {known.id}."

    @idempotent
    @tool
    async def forget(fact_id: str) -> str:
        """Forget what is known under this id."""
        try:
            was_known = await memory.forget(fact_id)
        except HostingError as error:
            return f"It was not forgotten: {error.detail}"
        return "Forgotten." if was_known else f"Nothing is known under the id {fact_id[:80]!r}."

    return remember, forget


def fact_id_of(key: str) -> str:
    """Return the id of the fact that a tool call, or a request with that key, brings."""
    return hashlib.sha256(key.encode()).hexdigest()[:_ID_LENGTH]


def fact_refusal(text: str) -> str | None:
    """Return why a text is not taken as a fact, as a sentence; None for one that is."""
    if not text.strip():
        return "The fact is blank. Send one short sentence."
    if len(text.strip()) > LONGEST_FACT:
        return f"The fact has {len(text.strip())} characters; {LONGEST_FACT} are the most. Send one short sentence."
    return None


def chosen(facts: Sequence[Fact], message: str, max_tokens: int) -> list[Fact]:
    """Return the facts that the model is given, the oldest first: all, or those that fit and share the rarest words.

    Of facts that share nothing the newest come first.
    """
    words = [_words(fact.text) for fact in facts]
    known_by = Counter(word for each in words for word in each)
    wanted = _words(message)

    def score(number: int) -> tuple[float, int]:
        shared = words[number] & wanted
        return sum(math.log(1 + len(facts) / known_by[word]) for word in shared), number

    left = max_tokens * _CHARACTERS_OF_TOKEN
    kept: list[int] = []
    for number in sorted(range(len(facts)), key=score, reverse=True):
        left -= len(facts[number].text) + _AROUND_FACT
        if left < 0:
            break
        kept.append(number)
    return [facts[number] for number in sorted(kept)]


def _words(text: str) -> set[str]:
    spaced = "".join(one if one.isalnum() else " " for one in text.casefold())
    return {word for word in spaced.split() if len(word) >= _SHORTEST_WORD}
