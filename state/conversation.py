"""A conversation: its entries, its next versions, and where it may be cut. Every change is a new value.

A conversation may be cut in two between turns, but not between a tool call and its result, because models refuse a
result without its call. Both are mostly in one entry; an approval puts turns between them.

Kinds are compared with `type(x) is`: models have no subclasses, and pydantic's `isinstance` is slow where it is False.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final, cast

from state.codec import parse_entry
from state.contents import ATTACHMENT, TOKEN_COUNTS, ErrorContent, TextContent
from state.extension import (
    HOST,
    NOTHING,
    SESSION,
    Archived,
    Lender,
    LogMark,
    Pause,
    count_of,
    host_of,
    with_extension,
)
from state.json_values import dump, from_json_value, parse, to_json_value
from state.models import (
    OURS,
    PLAIN,
    Conversation,
    Entries,
    Entry,
    PlainEntry,
    PlainResponse,
    RequestEntry,
    ResponseEntry,
    UnknownEntry,
    entry_text,
)

LEDGER_SIZE: Final = 256
UNANSWERED: Final = frozenset({"failed", "timed_out", "cancelled"})
INTERRUPTED: Final = "interrupted"
"""The statuses of entries of runs without an answer, and of one with the text of an interrupted run."""

_OF_ENTRIES: Final = frozenset({"archived", "lenders", "pause", "standing"})


def append_turn(
    conversation: Conversation,
    request: RequestEntry,
    response: ResponseEntry,
    *,
    pause: Pause | None = None,
    session: Mapping[str, Any] | None = None,
    owner: Mapping[str, str] | None = None,
) -> Conversation:
    """Return the conversation with another turn, and the response's run in the ledger. Entries are shared.

    The `owner`, where one is given, is named for readers of the store; the first owner stays.

    It waits for `pause` then, or for no decision. A `session` state replaces the one before, an empty one removes it,
    and None keeps it.
    """
    before = host_of(conversation)
    host = {**before.members, "applied": [*before.applied, response.correlation_id][-LEDGER_SIZE:]}
    if owner is not None:
        host.setdefault("owner", dict(owner))
    if pause != before.pause:
        host.pop("pause", None)
        if pause is not None:
            host["pause"] = _stored_pause(pause)
    extension: dict[str, Any] = {HOST: host}
    if session is not None:
        extension[SESSION] = to_json_value(session) if session else None
    history = conversation.data.conversation_history.with_entries(request, response)
    return with_extension(conversation, extension, history)


def reset(conversation: Conversation, reset_id: str) -> Conversation:
    """Return the conversation after a reset: no entries, no session state, the next generation.

    The ledger stays, with the reset in it, so that neither a run nor the reset is applied again.
    """
    before = host_of(conversation)
    host = {name: value for name, value in before.members.items() if name not in _OF_ENTRIES}
    host["generation"] = before.generation + 1
    host["applied"] = [*before.applied, reset_id][-LEDGER_SIZE:]
    return with_extension(conversation, {HOST: host, SESSION: None}, Entries())


def without_oldest(conversation: Conversation, count: int) -> Conversation:
    """Return the conversation without its `count` oldest entries, which it counts as archived."""
    entries, host = conversation.data.conversation_history.stored, host_of(conversation)
    archived = _archived(host.archived, entries[:count])
    return with_extension(conversation, {HOST: {**host.members, "archived": archived}}, Entries(entries[count:]))


def sums_before(conversation: Conversation, count: int) -> str:
    """Return the sums of the archived entries and the `count` oldest others, as JSON text."""
    entries = conversation.data.conversation_history.stored[:count]
    return dump(_archived(host_of(conversation).archived, entries))


def without_newest(conversation: Conversation, sums: str | None, through: int) -> Conversation:
    """Return the conversation with no entries but the archived entries of these sums, at least `through`.

    The same conversation where the sums are of fewer, or of none.
    """
    archived = None if sums is None else parse(sums)
    if not isinstance(archived, dict) or not through <= count_of(archived.get("entries")):
        return conversation
    return with_extension(conversation, {HOST: {**host_of(conversation).members, "archived": archived}}, Entries())


def entries_in(sums: str) -> int:
    """Return how many entries these sums are of; 0 where they do not say it."""
    archived = parse(sums)
    return count_of(archived.get("entries")) if isinstance(archived, dict) else 0


def _archived(before: Archived, moved: Sequence[Entry | PlainEntry]) -> dict[str, Any]:
    """Return the sums over the entries that were archived before and these, in stored form."""
    exchanges = [cast(RequestEntry | ResponseEntry | PlainEntry, e) for e in moved if type(e) is not UnknownEntry]
    used = [usage for entry in exchanges if (usage := getattr(entry, "usage", None)) is not None]
    since = before.since or next((entry.created_at for entry in exchanges), None)
    return {
        "entries": before.entries + len(moved),
        "messages": before.messages + Entries(moved).message_count,
        **({} if since is None else {"since": since}),
        "usage": {
            key: getattr(before, name) + sum(count_of(getattr(usage, name, None)) for usage in used)
            for key, name in TOKEN_COUNTS.items()
        },
    }


def with_older(conversation: Conversation, entries: Sequence[str]) -> Conversation:
    """Return the conversation with its newest archived entries, given as JSON texts, back before the others."""
    if not entries:
        return conversation
    older = [*map(parse_entry, entries)]
    before, brought = host_of(conversation).archived, _archived(NOTHING, older)
    history = Entries([*older, *conversation.data.conversation_history.stored])
    if before.entries <= len(older):
        return with_extension(conversation, {HOST: _members_without(conversation, "archived", "lenders")}, history)
    left = {
        "entries": before.entries - len(older),
        "messages": before.messages - brought["messages"],
        **({} if before.since is None else {"since": before.since}),
        "usage": {key: getattr(before, name) - brought["usage"][key] for key, name in TOKEN_COUNTS.items()},
    }
    return with_extension(conversation, {HOST: {**host_of(conversation).members, "archived": left}}, history)


def response_of(conversation: Conversation, run_id: str) -> ResponseEntry | None:
    """Return the newest response entry of the run, or None."""
    history = conversation.data.conversation_history
    held = history.stored
    for index in range(len(held) - 1, -1, -1):
        entry = held[index]
        if (type(entry) is ResponseEntry or type(entry) is PlainResponse) and entry.correlation_id == run_id:
            return cast(ResponseEntry, history[index])
    return None


def message_count(conversation: Conversation) -> int:
    """Return the number of messages in all requests and responses, archived ones too."""
    return host_of(conversation).archived.messages + conversation.data.conversation_history.message_count


def exchanges(conversation: Conversation) -> Iterator[RequestEntry | ResponseEntry]:
    """Iterate over the entries of known kind, in their order."""
    for entry in conversation.data.conversation_history:
        if type(entry) is ResponseEntry or type(entry) is RequestEntry:
            yield entry


def is_unanswered(entry: ResponseEntry) -> bool:
    """Return whether the entry records a run without an answer.

    Our entries show it by `status`, other packages' by their kind or by holding nothing but errors.
    """
    if entry.type == "errorResponse":
        return True
    if entry.status is not None:
        return entry.status in UNANSWERED
    contents = [content for message in entry.messages for content in message.contents]
    return bool(contents) and all(type(content) is ErrorContent for content in contents)


def response_text(entry: RequestEntry | ResponseEntry) -> str:
    """Return the text of the entry's messages, joined by a blank line; messages without text are left out.

    A text that stands for an attachment is none of it.
    """
    texts = (
        "".join(
            content.text or ""
            for content in message.contents
            if type(content) is TextContent and ATTACHMENT not in content.unknown_properties()
        )
        for message in entry.messages
    )
    return "\n\n".join(text for text in texts if text)


def response_value(entry: ResponseEntry) -> Any:
    """Return the JSON value of an answer that was requested in a format, or None."""
    ours = entry.unknown_properties().get(OURS)
    return from_json_value(ours.get("value")) if isinstance(ours, dict) else None


def session_state(conversation: Conversation) -> dict[str, Any] | None:
    """Return the state that context providers left after the last run, in serialized form, or None."""
    value = (conversation.data.extension_data or {}).get(SESSION)
    return from_json_value(value) if isinstance(value, dict) else None


def without_pending(conversation: Conversation) -> Conversation:
    """Return the conversation with its pause over, if it has one: the calls that waited were decided on, or made."""
    host = dict(host_of(conversation).members)
    if isinstance(host.get("pause"), dict):
        host["pause"] = {**host["pause"], "over": True}
    return with_extension(conversation, {HOST: host})


def with_expiration(conversation: Conversation, expires_at: str | None) -> Conversation:
    """Return the conversation with the time (RFC 3339) from which it need not be kept; None removes it."""
    if expires_at == conversation.data.expiration_time_utc:
        return conversation
    data = conversation.data.model_copy(update={"expiration_time_utc": expires_at})
    if expires_at is None:
        data.model_fields_set.discard("expiration_time_utc")
    return conversation.model_copy(update={"data": data})


def owned_by(conversation: Conversation, issuer: str, owner_id: str) -> Conversation:
    """Return the conversation as the beginning of another thread, of that owner: without its position in a log."""
    owner = {"issuer": issuer, "id": owner_id}
    return with_extension(conversation, {HOST: {**_members_without(conversation, "log"), "owner": owner}})


def forked(conversation: Conversation, generation: int, through: int) -> Conversation:
    """Return the beginning of another thread, archived under `generation`: the conversation up to entry `through`.

    Where that is archived, it has no entries. Members of applied runs, a pause, an expiry or the end are left out.
    """
    shorter = up_to(conversation, through)
    host = _members_without(shorter, "log", "applied", "pause", "lenders")
    extension = {HOST: {**host, "generation": generation}, SESSION: None}
    return with_expiration(with_extension(shorter, extension), None)


def up_to(conversation: Conversation, through: int) -> Conversation:
    """Return the conversation without its entries after position `through`; archived ones stay."""
    held = conversation.data.conversation_history.stored
    count = max(0, through - host_of(conversation).archived.entries)
    return conversation if count >= len(held) else with_extension(conversation, {}, Entries(held[:count]))


def with_generation(conversation: Conversation, generation: int) -> Conversation:
    """Return the conversation as archived under this generation."""
    return with_extension(conversation, {HOST: {**host_of(conversation).members, "generation": generation}})


def with_lenders(conversation: Conversation, lenders: Sequence[Lender]) -> Conversation:
    """Return the conversation of a fork with these archived entries."""
    host = host_of(conversation)
    threads = [
        {
            "threadId": lender.thread_id,
            "key": lender.key,
            "resetAt": lender.reset_at,
            "generation": lender.generation,
            "through": lender.through,
        }
        for lender in lenders
    ]
    value = {"generation": host.generation, "threads": threads}
    return with_extension(conversation, {HOST: {**host.members, "lenders": value}})


def with_end(conversation: Conversation, pause: Pause | None, session: Mapping[str, Any] | None) -> Conversation:
    """Return the conversation as waiting for `pause`, or for nothing, with this session state."""
    host = _members_without(conversation, "pause")
    if pause is not None:
        host["pause"] = _stored_pause(pause)
    return with_extension(conversation, {HOST: host, SESSION: to_json_value(session) if session else None})


def with_session(conversation: Conversation, session: Mapping[str, Any] | None) -> Conversation:
    """Return the conversation with this session state, or with none."""
    return with_extension(conversation, {SESSION: to_json_value(session) if session else None})


def without_pause(conversation: Conversation) -> Conversation:
    """Return the conversation as waiting for nothing."""
    if host_of(conversation).pause is None:
        return conversation
    return with_extension(conversation, {HOST: _members_without(conversation, "pause")})


def with_log_mark(conversation: Conversation, mark: LogMark) -> Conversation:
    """Return the conversation that names how far the log has been applied."""
    value = {"epoch": mark.epoch, "position": mark.position, "since": mark.since}
    return with_extension(conversation, {HOST: {**host_of(conversation).members, "log": value}})


def _stored_pause(pause: Pause) -> dict[str, Any]:
    return {"runId": pause.run_id, "expiresAt": pause.expires_at, "over": pause.is_over}


def _members_without(conversation: Conversation, *left_out: str) -> dict[str, Any]:
    return {name: value for name, value in host_of(conversation).members.items() if name not in left_out}


_CALL_ID: Final = ("callId", "call_id")
_Link = tuple[str, str]
_NO_CALLS: Final = (frozenset[_Link](), frozenset[_Link]())


def cuts(entries: Sequence[Entry | PlainEntry]) -> list[int]:
    """Return after how many entries the conversation may be cut, in ascending order, its two ends left out."""
    allowed = []
    earliest = len(entries)
    for index, begins in reversed(list(enumerate(_beginnings(entries)))):
        earliest = min(earliest, begins)
        if 0 < index <= earliest:
            allowed.append(index)
    return allowed[::-1]


def _beginnings(entries: Sequence[Entry | PlainEntry]) -> list[int]:
    """Return for each entry the index of the earliest that it may not be parted from."""
    latest: dict[_Link, int] = {}
    beginnings = []
    for index, entry in enumerate(entries):
        mentioned, starts = _links(entry)
        beginnings.append(min((latest.get(link, index) for link in mentioned - starts), default=index))
        latest.update(dict.fromkeys(mentioned, index))
    return beginnings


def _links(entry: Entry | PlainEntry) -> tuple[Set[_Link], Set[_Link]]:
    """Return the run and the calls that an entry mentions, and the calls that begin in it."""
    if isinstance(entry, UnknownEntry):
        run = frozenset[_Link]()
    else:
        run = frozenset((("run", entry.correlation_id),)) if entry.correlation_id is not None else frozenset()
    mentioned, starts = _NO_CALLS if isinstance(entry, PLAIN) else entry.derived(_calls)
    return run | mentioned, starts


def _calls(entry: Entry) -> tuple[frozenset[_Link], frozenset[_Link]]:
    """Return the calls that an entry mentions, and those that begin in it; most texts show at once that there are none.

    Another writer may have escaped a property's name: such a text is parsed.
    """
    text = entry_text(entry)
    if not any(name in text for name in (*_CALL_ID, "\\u")):
        return _NO_CALLS
    calls = [(value.get("$type"), ("call", call_id)) for value in _objects(parse(text)) for call_id in _call_ids(value)]
    return frozenset(call for _, call in calls), frozenset(call for kind, call in calls if kind == "functionCall")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(item)


def _call_ids(value: dict[str, Any]) -> Iterator[str]:
    return (value[name] for name in _CALL_ID if isinstance(value.get(name), str))
