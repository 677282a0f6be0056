"""What we keep under `data.extensionData`, where other packages leave it: the host's own object and session state.

Whatever another writer put into the host's object in another form counts as absent, member by member.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from state.codec import RAISED_MINORS
from state.contents import TOKEN_COUNTS
from state.models import Conversation, Entries

HOST: Final = "durableAgentHost"
SESSION: Final = "agentSession"

Position = tuple[int, int]
"""A message: the position of its entry in the whole conversation, from 1, and its number in what is replayed of it."""


@dataclass(frozen=True)
class Archived:
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


@dataclass(frozen=True)
class Summary:
    """The text that the model is sent in place of the beginning, and the place of the last message it stands for.

    The entries stay as they are.
    """

    through: Position
    text: str


@dataclass(frozen=True)
class Pause:
    """The newest turn ended with tool calls that wait for somebody's approval; its run, and when they stop waiting.

    `expires_at` is in seconds since 1970, None for never. Once the pause `is_over` nothing waits any more, and yet the
    calls have no results: the run that continued ended without an answer.
    """

    run_id: str
    expires_at: float | None
    is_over: bool = False


@dataclass(frozen=True)
class LogMark:
    """How far the thread's log has been applied to a document: its `epoch`, and the `position` of the last event.

    Runs that were open there began after position `since`.
    """

    epoch: int
    position: int
    since: int


@dataclass(frozen=True)
class Host:
    """The host's own object of a document.

    `members` is all of it in stored form. `generation` counts how often the conversation was forgotten, `applied` are
    the last runs and resets that were applied. `pause` is what the conversation waits for, `log_mark` how far the log
    has been applied: each is None where the document does not say so.
    """

    members: Mapping[str, Any] = field(default_factory=dict)
    generation: int = 0
    applied: tuple[str, ...] = ()
    archived: Archived = NOTHING
    summary: Summary | None = None
    pause: Pause | None = None
    log_mark: LogMark | None = None


def host_of(conversation: Conversation) -> Host:
    """Return the host's own object."""
    return conversation.derived(_read_host)


def _read_host(conversation: Conversation) -> Host:
    members = (conversation.data.extension_data or {}).get(HOST)
    if not isinstance(members, dict):
        return Host()
    generation, applied = members.get("generation"), members.get("applied")
    return Host(
        members=members,
        generation=generation if type(generation) is int else 0,
        applied=tuple(applied) if isinstance(applied, list) else (),
        archived=_archived(_object(members, "archived")),
        summary=_summary(_object(members, "summary")),
        pause=_pause(_object(members, "pause")),
        log_mark=_log_mark(_object(members, "log")),
    )


def _object(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = members.get(name)
    return value if isinstance(value, dict) else {}


def _archived(value: dict[str, Any]) -> Archived:
    entries, usage, since = count_of(value.get("entries")), _object(value, "usage"), value.get("since")
    if not entries:
        return NOTHING
    return Archived(
        entries=entries,
        messages=count_of(value.get("messages")),
        since=since if isinstance(since, str) else None,
        **{name: count_of(usage.get(key)) for key, name in TOKEN_COUNTS.items()},
    )


def _summary(value: dict[str, Any]) -> Summary | None:
    match value:
        case {"text": str(text), "entry": entry, "message": message} if type(entry) is type(message) is int:
            return Summary((entry, message), text)
    return None


def _pause(value: dict[str, Any]) -> Pause | None:
    at, run_id = value.get("expiresAt"), value.get("runId")
    if not isinstance(run_id, str):
        return None
    return Pause(run_id, at if isinstance(at, int | float) else None, value.get("over") is True)


def _log_mark(value: dict[str, Any]) -> LogMark | None:
    numbers: list[Any] = [value.get(name) for name in ("epoch", "position", "since")]
    if any(type(number) is not int or number < 0 for number in numbers):
        return None
    mark = LogMark(*numbers)
    return mark if mark.since <= mark.position else None


def count_of(value: object) -> int:
    """Return a count as it was stored; 0 for what is none."""
    return value if type(value) is int and value > 0 else 0


def with_extension(
    conversation: Conversation, extension: Mapping[str, Any], history: Entries | None = None
) -> Conversation:
    """Return a copy with these extension properties, one that is None removed, and with these entries, if given."""
    merged = {**(conversation.data.extension_data or {}), **extension}
    kept = {key: value for key, value in merged.items() if value is not None or key not in extension}
    entries = conversation.data.conversation_history if history is None else history
    update: dict[str, Any] = {"conversation_history": entries}
    if kept or conversation.data.extension_data is not None:
        update["extension_data"] = kept
    version = conversation.schema_version
    return conversation.model_copy(
        update={
            "schema_version": RAISED_MINORS.get(version.split(".")[1], version),
            "data": conversation.data.model_copy(update=update),
        }
    )
