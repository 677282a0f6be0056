"""Names of agents, threads and their stored data, and the alphabet of ids."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Iterable
from functools import cached_property
from typing import Literal, get_args

from msgspec import Struct

from hosting.errors import ConfigurationError, InvalidThreadIdError

MAX_ENTITY_ID_LENGTH = 100
"""Characters of `@dafx-<agent>@<thread>`, the engine's documented limit for an instance id."""

GENERATED_THREAD_ID_LENGTH = 32
MAX_ID_LENGTH = 64
_AGENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*\Z")
_BLANK_IN_KEYS = "!"
_MOST_NAME_CHARACTERS = MAX_ENTITY_ID_LENGTH - len("@dafx-@")


APP = "app"
"""The owner of every thread of an app without owners, and of requests without a sign-in."""

BUSY = "busy"
Busy = Literal["queue", "reject", "interrupt", "rollback", "steer"]
BUSY_POLICIES: tuple[Busy, ...] = get_args(Busy)
"""What becomes of a request whose thread has a run that has not ended: it is queued behind that, or refused, or it ends
that: `interrupt` keeps the text of that run, and `rollback` keeps nothing of it. With `steer` it is queued, and joins
the run that is at work at that run's next model call, if there is one."""

OWNER_LENGTH = 16
"""Characters of an owner that is a person: `hosting.principal` makes them of issuer and id."""

_OWNED = "!"
_OWNED_KEY = re.compile(rf"([a-z0-9]{{{OWNER_LENGTH}}}){_OWNED}(.*)", re.DOTALL)
"""The key of the entity of a person's thread. No thread id of ours has the mark, so no other key has this form."""


def check_agent_name(name: object, *, has_owners: bool = False) -> str:
    """Return the name if it fits an entity and a URL and, with '_' for blanks, a function.

    Otherwise raise `ConfigurationError`. Where threads have owners, these take their part of the entity's id.
    """
    if not isinstance(name, str) or not name:
        raise ConfigurationError("An agent has no name. Give each agent a name: Agent(..., name='assistant').")
    if not _AGENT_NAME.match(name):
        raise ConfigurationError(
            f"Agent name {name!r} cannot be a function's name. "
            "Begin with a letter and use letters, digits, '_', '-' and single blanks."
        )
    most = _MOST_NAME_CHARACTERS - GENERATED_THREAD_ID_LENGTH - (OWNER_LENGTH + len(_OWNED) if has_owners else 0)
    if len(name) > most:
        raise ConfigurationError(
            f"Agent name {name!r} has {len(name)} characters; the engine leaves room for {most}"
            f"{' beside the owner of a thread' if has_owners else ''}. Shorten it."
        )
    return name


def entity_name(agent: str) -> str:
    """Return the entity that holds the conversations of an agent."""
    return f"dafx-{agent}"


def without_blanks(agent: str) -> str:
    """Return the agent's name as functions and MCP tools have it, which may have no blanks."""
    return agent.replace(" ", "_")


def entity_function(agent: str) -> str:
    """Return the function of the agent's entity."""
    return f"dafx-{without_blanks(agent)}"


def http_function(agent: str) -> str:
    """Return the function of `POST agents/<agent>/run`."""
    return f"http-{without_blanks(agent)}"


def mcp_function(agent: str) -> str:
    """Return the function of the agent's MCP tool."""
    return f"mcptool-{without_blanks(agent)}"


def agent_in_key(agent: str) -> str:
    """Return an agent's name as keys have it: no store has to take a blank in a key."""
    return agent.replace(" ", _BLANK_IN_KEYS)


def agent_of_key(part: str) -> str:
    """Return the agent of that part of a key, or of a key that begins with it and a dot."""
    return part.partition(".")[0].replace(_BLANK_IN_KEYS, " ")


def behind_agent(agent: str) -> str:
    """Return a text that sorts after every key of an agent, in lower case, and before those of later agents."""
    return f"{agent_in_key(agent)}/"


def id_pattern(most: int = MAX_ID_LENGTH) -> str:
    """Return the alphabet, at most so many characters of it, as a regular expression that JSON Schema reads too."""
    return rf"[A-Za-z0-9._~-]{{0,{most - 1}}}[A-Za-z0-9_~-]"


_ID = re.compile(id_pattern())
MAX_STORED_ID_LENGTH = 512
_STORED_ID = re.compile(rf"(?!\.{{1,2}}\Z)[^/\\?#\x00-\x1f\x7f-\x9f\ud800-\udfff]{{1,{MAX_STORED_ID_LENGTH}}}")
"""The characters that the engine takes in an entity's key, and so in thread ids of other packages."""


_ID_BYTES = 16
_MOST_DRAWN = 64
_DRAWN: deque[str] = deque()
"""Ids that were drawn and not given away. Taking one is atomic, so no two threads have the same."""

if hasattr(os, "register_at_fork"):  # not on Windows, where no process is forked
    os.register_at_fork(after_in_child=_DRAWN.clear)


def new_id() -> str:
    """Return a fresh id of 32 hexadecimal digits, for a run, a thread or a fencing token.

    Its bytes are the system's random ones, as those of `secrets`, read for many ids at a time. Each is given away once,
    and a forked process draws its own.
    """
    try:
        return _DRAWN.popleft()
    except IndexError:
        digits = os.urandom(_ID_BYTES * _MOST_DRAWN).hex()
    first, *others = (digits[start : start + 2 * _ID_BYTES] for start in range(0, len(digits), 2 * _ID_BYTES))
    _DRAWN.extend(others)
    return first


def is_id(value: str) -> bool:
    """Whether a text is of the alphabet that thread ids and run ids share."""
    return bool(_ID.fullmatch(value))


def max_thread_id_length(agent: str, owner: str = APP) -> int:
    """Return how many characters a thread id of this agent may have, for that owner."""
    left = _MOST_NAME_CHARACTERS - len(agent)
    return min(MAX_ID_LENGTH, left if owner == APP else left - OWNER_LENGTH - len(_OWNED))


def may_be_stored(value: str, owner: str = APP) -> bool:
    """Whether a thread may have this id: an id of ours, or, for the app's own threads, of another package."""
    return is_id(value) or (owner == APP and bool(_STORED_ID.fullmatch(value)) and not _OWNED_KEY.fullmatch(value))


def check_thread_id(value: str, agent: str, owner: str = APP, *, is_stored: bool = False) -> str:
    """Return the thread id if it can be part of this agent's entity id; else raise `InvalidThreadIdError`.

    `is_stored`: also if a thread of another package may stand under it.
    """
    limit = max_thread_id_length(agent, owner)
    if (len(value) <= limit and _ID.fullmatch(value)) or (is_stored and owner == APP and may_be_stored(value)):
        return value
    shown = value if len(value) <= 80 else value[:80] + "…"
    raise InvalidThreadIdError(
        f"Thread id {shown!r} is not valid. "
        f"Use 1 to {limit} of the characters A-Z a-z 0-9 . _ ~ - and no '.' at the end."
    )


_OWNER = re.compile(r"[a-z0-9]{1,64}")
_KEY = re.compile(r"([a-z][a-z0-9_!-]*)\.([a-z0-9]{1,64})~([A-Za-z0-9._~-]{1,64})")
_DIGEST_LENGTH = 32


class Address(Struct, frozen=True, dict=True):
    """The address of a thread in an app: log and entity are found by it. `agent` is in lower case.

    The owner stands in every name, so two owners' threads of one id are two threads, and no name is of both.
    Two apps never share a store's space: each store is opened under the name of the app's task hub.
    """

    agent: str
    thread_id: str
    owner: str = APP

    @classmethod
    def of(cls, agent: str, thread_id: str, owner: str = APP) -> Address:
        """Return the address for an agent's name in whichever letter case.

        Raises `ValueError` for an owner that is not 1 to 64 lower-case letters and digits.
        """
        if not _OWNER.fullmatch(owner):
            raise ValueError(f"The owner {owner[:80]!r} must be 1 to 64 of the characters a-z and 0-9.")
        return cls(agent.lower(), thread_id, owner)

    @classmethod
    def of_entity(cls, agent: str, key: str) -> Address:
        """Return the address of the thread with that entity key, as `entity` gives it."""
        owned = _OWNED_KEY.fullmatch(key)
        return cls(agent.lower(), key) if owned is None else cls(agent.lower(), owned[2], owned[1])

    @classmethod
    def of_key(cls, key: str) -> Address | None:
        """Return the address that has this `key`; None where a digest stands for its thread id, and for no key."""
        match = _KEY.fullmatch(key)
        return None if match is None else cls(agent_of_key(match[1]), match[3], match[2])

    @property
    def entity(self) -> tuple[str, str]:
        """The entity that holds the conversation: its name, and its key, in which a person's owner comes first."""
        key = self.thread_id if self.owner == APP else f"{self.owner}{_OWNED}{self.thread_id}"
        return entity_name(self.agent), key

    @cached_property
    def key(self) -> str:
        """The address as text, unique for each address, in characters that every store takes in a key.

        A thread id from outside our alphabet, which another package may have given, is replaced by a digest.
        """
        thread_id = self.thread_id
        if not is_id(thread_id):
            thread_id = "!" + hashlib.sha256(thread_id.encode(errors="surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
        return f"{self.agent.replace(' ', _BLANK_IN_KEYS)}.{self.owner}~{thread_id}"


def key_prefix(agent: str, owner: str) -> str:
    """Return the common prefix of the keys of an owner's addresses with an agent.

    `agent` is in lower case.
    """
    return f"{agent_in_key(agent)}.{owner}~"


def thread_key(address: Address, epoch: int, part: str = "") -> str:
    """Return 64 hexadecimal digits for this life of the thread: a key and file name for data of other packages.

    No two threads have one, whatever their owners, agents and ids are, and no two lives of a thread, so that nobody is
    given what another's thread left, nor what an erased one did. `part` is one of those within: a workflow's executor.
    """
    named = json.dumps([address.agent, address.owner, address.thread_id, epoch, part])
    return hashlib.sha256(named.encode()).hexdigest()


def keyed_thread_id(agent: str, owner: str, key: str, forked: str = "") -> str:
    """Return the id of the thread that an idempotency key without a thread names: the same whenever it is repeated.

    One for a run, and for each thread that is `forked` another one.
    """
    named = "\n".join([agent.lower(), owner, key, *([forked] if forked else [])])
    return hashlib.sha256(named.encode()).hexdigest()[:_DIGEST_LENGTH]


PUT_ROLES = ("user", "assistant")
"""The roles of messages that are put into a thread."""


def store_space(
    hub: str,
    holds: Literal[
        "log",
        "not-taken",
        "deleted",
        "promised",
        "swept",
        "files",
        "feedback",
        "feedback-noted",
        "put-noted",
        "unsearched",
        "uploads",
        "uploads-due",
        "file-index",
        "file-search",
    ],
) -> str:
    """Return the space of the object stores in which the app of that task hub keeps such data."""
    return f"{hub}.{holds}"


class StoreKey(Struct, frozen=True):
    """The key of archived entries, attachments and records: a name in one space of a store."""

    space: str
    name: str

    def epochs_in(self, names: Iterable[str]) -> list[int]:
        """Return which epochs of this thread are among those names, `<name>/<epoch>`, lowest first."""
        folder = f"{self.name}/"
        epochs = {name[len(folder) :] for name in names if name.startswith(folder)}
        return sorted(int(epoch) for epoch in epochs if epoch.isdecimal())


STEP = "step/"
"""The beginning of the keys of a functional workflow's steps; that of a tool call begins otherwise."""


def is_step_key(key: str) -> bool:
    """Return whether a call is a workflow's step: readers of the run see it as an executor, by its checkpoint."""
    return key.startswith(STEP)


def model_call_key(within: str, number: int) -> str:
    """Return the key of a model call: `2`, or `1.call-a/2` in an agent that is the tool of call `1.call-a`.

    The key of a tool call is that of the model call that requested it, a dot and the call's id.
    """
    return f"{within}/{number}" if within else str(number)
