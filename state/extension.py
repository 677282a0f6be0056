"""Our data under `data.extensionData`, which other packages keep: the host's own object and session state.

Whatever another writer put into the host's object in another form counts as absent, member by member.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from state.codec import RAISED_MINORS
from state.contents import TOKEN_COUNTS
from state.models import Conversation, Entries

HOST: Final = "durableAgentHost"
SESSION: Final = "agentSession"

Position = tuple[int, int]
"""A message: the position of its entry in the whole conversation, from 1, and its number in the replay."""


class Archived(Struct, frozen=True):
    """Sums over the archived entries, which are kept elsewhere, whole and in order, before those of the document.

    `since` is the time of the first of them, as it was written.
    """

    entries: int = 0
    messages: int = 0
    since: str | None = None
    input_token_count: int = 0
    output_token_count: int = 0
    total_token_count: int = 0


NOTHING: Final = Archived()


class Pause(Struct, frozen=True):
    """The newest turn ended with tool calls that wait for approval; its run, and when the wait ends.

    `expires_at` is in seconds since 1970, None for never. Once the pause `is_over` nothing waits any more, and yet the
    calls have no results: the run that continued ended without an answer.
    """

    run_id: str
    expires_at: float | None
    is_over: bool = False


class Lender(Struct, frozen=True):
    """Another thread: its archive has the entries of a fork up to position `through`, under its `generation`.

    `key` is of that life of it in the stores. `reset_at` is the position of its last reset then: after one it has them
    no more.
    """

    thread_id: str
    key: str
    reset_at: int
    generation: int
    through: int


class LogMark(Struct, frozen=True):
    """How far the thread's log has been applied to a document: its `epoch`, and the `position` of the last event.

    Runs that were open there began after position `since`.
    """

    epoch: int
    position: int
    since: int


class Host(Struct, frozen=True):
    """The host's own object of a document.

    `members` is all of it in stored form. `generation` counts how often the conversation was forgotten, `applied` are
    the last runs and resets that were applied. `pause` is what the conversation waits for, `log_mark` how far the log
    has been applied: each is None where the document has none. `lenders` are of a fork, by what they lend, the least
    first.
    """

    members: Mapping[str, Any] = field(default_factory=dict)
    generation: int = 0
    applied: tuple[str, ...] = ()
    archived: Archived = NOTHING
    pause: Pause | None = None
    log_mark: LogMark | None = None
    lenders: tuple[Lender, ...] = ()


def host_of(conversation: Conversation) -> Host:
    """Return the host's own object."""
    return conversation.derived(_read_host)


def _read_host(conversation: Conversation) -> Host:
    members = (conversation.data.extension_data or {}).get(HOST)
    if not isinstance(members, dict):
        return Host()
    generation, applied = members.get("generation"), members.get("applied")
    pause, log_mark = None, None
    match members.get("pause"):
        case {"runId": str(run_id), **rest}:
            expires_at = rest.get("expiresAt")
            pause = Pause(run_id, expires_at if isinstance(expires_at, int | float) else None, rest.get("over") is True)
    match members.get("log"):
        case {"epoch": epoch, "position": position, "since": since} if _are_counts(epoch, position, since):
            log_mark = LogMark(epoch, position, since) if since <= position else None
    lenders: tuple[Lender, ...] = ()
    match members.get("lenders"):
        case {"generation": of, "threads": list(threads)} if of == generation:
            # A reset by an older version of the app keeps them, and raises the generation.
            lenders = tuple(lender for lender in map(_lender, threads) if lender is not None)
    return Host(
        members=members,
        generation=generation if type(generation) is int else 0,
        applied=tuple(applied) if isinstance(applied, list) else (),
        archived=_archived(members.get("archived")),
        pause=pause,
        log_mark=log_mark,
        lenders=lenders,
    )


def _lender(value: object) -> Lender | None:
    match value:
        case {
            "threadId": str(thread_id),
            "key": str(key),
            "resetAt": reset_at,
            "generation": generation,
            "through": through,
        } if _are_counts(reset_at, generation, through):
            return Lender(thread_id, key, reset_at, generation, through)
    return None


def _are_counts(*values: object) -> bool:
    return all(type(value) is int and value >= 0 for value in values)


def _archived(value: object) -> Archived:
    if not isinstance(value, dict) or not count_of(value.get("entries")):
        return NOTHING
    usage, since = value.get("usage"), value.get("since")
    counts = {name: count_of(usage.get(key)) for key, name in TOKEN_COUNTS.items()} if isinstance(usage, dict) else {}
    return Archived(
        entries=value["entries"],
        messages=count_of(value.get("messages")),
        since=since if isinstance(since, str) else None,
        **counts,
    )


def count_of(value: object) -> int:
    """Return a count as it was stored; 0 for another value."""
    return value if type(value) is int and value > 0 else 0


def with_extension(
    conversation: Conversation, extension: Mapping[str, Any], history: Entries | None = None
) -> Conversation:
    """Return a copy with these extension properties, without those that are None, and with these entries, if given."""
    merged = {**(conversation.data.extension_data or {}), **extension}
    members = {key: value for key, value in merged.items() if value is not None or key not in extension}
    entries = conversation.data.conversation_history if history is None else history
    update: dict[str, Any] = {"conversation_history": entries}
    if members or conversation.data.extension_data is not None:
        update["extension_data"] = members
    version = conversation.schema_version
    return conversation.model_copy(
        update={
            "schema_version": RAISED_MINORS.get(version.split(".")[1], version),
            "data": conversation.data.model_copy(update=update),
        }
    )
