"""Standing approvals: the rules in a stored session by which agent-framework calls tools without asking a person again.

Theory. The rules are the state of the framework's `ToolApprovalMiddleware`, in its stored form: each is for a tool, or
for a tool with the exact arguments. The middleware alone adds and applies them. Who approved, and when, stands beside
them in the host's own object, from the decision on. Only what is a rule counts, so a run that fails gives nothing. What
was withdrawn comes back with no earlier state of the session.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

from msgspec import Struct

from state.conversation import session_state
from state.extension import HOST, SESSION, host_of, with_extension
from state.json_values import to_json_value
from state.models import Conversation

_MEMBER: Final = "standing"
_RULES: Final = "rules"
_OF_MIDDLEWARE: Final = {_RULES, "queued_approval_requests", "collected_approval_responses"}
_ID_LENGTH = 32


class StandingApproval(Struct, frozen=True):
    """A tool is called without a question: with just these `arguments`, or with any if they are None.

    `server` is the label of the tool's server where the model's provider calls it. `by` is the person, with issuer, id
    and name, or None where nobody was signed in. That and the time `at` are None for a rule that no decision made.
    """

    id: str
    tool: str
    arguments: dict[str, Any] | None
    server: str | None
    by: dict[str, Any] | None
    at: str | None


def standing_approvals(conversation: Conversation) -> list[StandingApproval]:
    """Return those that hold for the next run of the thread, in the order in which they were given."""
    givers = {_key(giver): giver for giver in _givers(conversation)}
    standing = []
    for source, rule in _rules(session_state(conversation)):
        giver = givers.get(_key(rule), {})
        texts = rule.get("arguments")
        arguments = to_json_value({name: _value(text) for name, text in texts.items()}) if texts is not None else None
        standing.append(
            StandingApproval(
                id=_id(source, rule),
                tool=rule["tool_name"],
                arguments=arguments,
                server=rule.get("server_label"),
                by=giver.get("by"),
                at=giver.get("at"),
            )
        )
    return standing


def keeps_rules(state: object) -> bool:
    """Return whether what a session keeps under one name is that of a middleware with such rules."""
    return isinstance(state, Mapping) and state.keys() >= _OF_MIDDLEWARE


def with_giver(
    conversation: Conversation, call: Mapping[str, Any], *, has_arguments: bool, by: dict[str, Any] | None, at: str
) -> Conversation:
    """Return the conversation with the person who gave a standing approval, and the time; the newest one counts.

    It is for calls as this one, in agent-framework's form: of the tool, or also with the same arguments.
    """
    members = {
        "tool": call.get("name"),
        "arguments": _texts(call.get("arguments")) if has_arguments else None,
        "server": call.get("server_name") if call.get("hosted") else None,
        "by": by,
        "at": at,
    }
    giver = {name: value for name, value in members.items() if value is not None}
    others = [other for other in _givers(conversation) if _key(other) != _key(giver)]
    return _with_givers(conversation, [*others, giver])


def without_standing(conversation: Conversation, standing_id: str) -> Conversation:
    """Return the conversation without that standing approval, and without its giver."""
    session = session_state(conversation)
    withdrawn = {_key(rule) for source, rule in _rules(session) if _id(source, rule) == standing_id}
    kept = {_id(source, rule) for source, rule in _rules(session)} - {standing_id}
    others = [giver for giver in _givers(conversation) if _key(giver) not in withdrawn]
    left = with_extension(conversation, {SESSION: to_json_value(_only(session, kept))})
    return _with_givers(left, others)


def still_standing(session: Mapping[str, Any] | None, now: Conversation) -> dict[str, Any] | None:
    """Return an earlier state of the thread's session without the standing approvals that it has no more `now`."""
    return _only(session, {_id(source, rule) for source, rule in _rules(session_state(now))})


def without_strangers(conversation: Conversation) -> Conversation:
    """Return the conversation without givers of what does not stand in its session."""
    keys = {_key(rule) for _, rule in _rules(session_state(conversation))}
    return _with_givers(conversation, [giver for giver in _givers(conversation) if _key(giver) in keys])


def _only(session: Mapping[str, Any] | None, kept: Set[str]) -> dict[str, Any] | None:
    """Return the session with none but these rules."""
    if session is None:
        return None
    state = {
        source: {**value, _RULES: [rule for rule in value[_RULES] if _id(source, rule) in kept]}
        for source, value in _middleware(session)
    }
    return {**session, "state": {**session["state"], **state}} if state else dict(session)


def _rules(session: Mapping[str, Any] | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rules in a session, each with the name under which its middleware keeps it."""
    for source, value in _middleware(session):
        yield from ((source, rule) for rule in value[_RULES])


def _middleware(session: Mapping[str, Any] | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the state of each middleware in a session that keeps such rules."""
    state = None if session is None else session.get("state")
    for source, value in state.items() if isinstance(state, Mapping) else ():
        if keeps_rules(value):
            yield source, value


def _givers(conversation: Conversation) -> list[Mapping[str, Any]]:
    givers = host_of(conversation).members.get(_MEMBER)
    return [giver for giver in givers if isinstance(giver, Mapping)] if isinstance(givers, list) else []


def _with_givers(conversation: Conversation, givers: list[Mapping[str, Any]]) -> Conversation:
    if givers == _givers(conversation):
        return conversation
    members = {name: value for name, value in host_of(conversation).members.items() if name != _MEMBER}
    return with_extension(conversation, {HOST: {**members, **({_MEMBER: givers} if givers else {})}})


def _id(source: str, rule: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([source, _key(rule)]).encode()).hexdigest()[:_ID_LENGTH]


def _key(stored: Mapping[str, Any]) -> str:
    """Return the tool, its server and the values of the arguments, which a rule and its giver have, as one text."""
    texts = stored.get("arguments")
    values = {name: _value(text) for name, text in texts.items()} if isinstance(texts, Mapping) else None
    tool, server = stored.get("tool_name", stored.get("tool")), stored.get("server_label", stored.get("server"))
    return json.dumps([tool, server, values], sort_keys=True)


def _value(text: object) -> Any:
    """Return the value of an argument, which a rule has as JSON text."""
    try:
        return json.loads(str(text))
    except ValueError:
        return text


def _texts(arguments: object) -> dict[str, str]:
    """Return a call's arguments by name, each as JSON text; what is no object is named as agent-framework does."""
    value = _value(arguments) if isinstance(arguments, str) and arguments else arguments or {}
    values = value if isinstance(value, Mapping) else {"raw": value}
    return {name: json.dumps(value, default=str) for name, value in values.items()}
