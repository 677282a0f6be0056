"""The session's state of a thread, read and written without a run.

Theory. The thread's log alone changes the state: a write is one event, which has the whole session that the next run
begins with. It is made of the state as it was read, and names that position of the log: if anything came between, the
append is refused, and the patch is applied to the newer state. While a run is open a write is refused. The end of that
run brings a session of its own, in which the write would be lost; and a later attempt of it begins as the first one.

The patch is for what the agent's providers keep, and for nothing by which a caller gains more: no standing approvals,
no history, nothing that this app keeps there itself, and no objects of the framework's classes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

from agent_framework import DEFAULT_TOOL_APPROVAL_SOURCE_ID, AgentSession, ToolApprovalMiddleware

from hosting.core.agent.history import has_messages, history_source
from hosting.core.held_runs import HeldRuns
from hosting.core.signals import Signals
from hosting.core.thread.commands import Change, Refused, WriteSession
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.errors import InvalidFieldError, ThreadChangedError
from hosting.features.thread_state.requests import StatePatch
from hosting.features.thread_state.routes import StateChangedError, StateRefusedError, StateTooLargeError
from hosting.names import Address, thread_key
from hosting.plan import AgentPlan
from hosting.ports import EntityClient
from hosting.shared_state import KEY, takes_state
from state.conversation import session_state
from state.models import Conversation
from state.standing import keeps_rules

MOST_STATE_BYTES = 262_144
"""Of the state as JSON text, after a write that makes it larger: each end of a run has it whole."""
_TRIES = 5
_VERSION_LENGTH = 32
_OURS = __name__.partition(".")[0]


def state_of(conversation: Conversation) -> dict[str, Any]:
    """Return the state of the agent's providers, by their names."""
    state = (session_state(conversation) or {}).get("state")
    return state if isinstance(state, dict) else {}


def version_of(state: Mapping[str, Any]) -> str:
    """Return the version of a state: equal states have the same one."""
    return hashlib.sha256(_text(state).encode(errors="surrogatepass")).hexdigest()[:_VERSION_LENGTH]


def patched(value: Any, patch: Any) -> Any:
    """Return a JSON value after a merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    members = dict(value) if isinstance(value, dict) else {}
    for name, change in patch.items():
        if change is None:
            members.pop(name, None)
        else:
            members[name] = patched(members.get(name), change)
    return members


class SessionStates:
    """Reads and writes the session's state of one app's threads."""

    def __init__(self, log: ThreadLog, threads: Threads, holders: HeldRuns) -> None:
        self._log = log
        self._threads = threads
        self._holders = holders
        self._signals = Signals(log)

    async def read(self, address: Address, client: EntityClient) -> dict[str, Any]:
        """Return the state of a thread. Raises as `Threads.view` does."""
        return state_of((await self._threads.view(address, client)).conversation)

    async def write(
        self, agent: AgentPlan, address: Address, patch: StatePatch, client: EntityClient
    ) -> dict[str, Any]:
        """Return the state after the patch, once it stands; a patch that is repeated changes nothing.

        Raises `StateChangedError` for another version than the patch is for, `StateRefusedError` for an agent without
        a session and for a reserved member, `StateTooLargeError`, `InvalidFieldError`, `ThreadBusyError` while a run
        is open, `ThreadChangedError` where others were always first, and as `Threads.view` does.
        """
        refuse_without_session(agent)
        refuse_reserved(agent, patch.changes)
        for _ in range(_TRIES):
            view = await self._threads.view(address, client)
            before = state_of(view.conversation)
            after: dict[str, Any] = patched(before, patch.changes)
            if _text(after) == _text(before):
                if view.written:  # whoever wrote it may have died before its signal
                    await self._signals.store(address, view.written[-1][0], client)
                return before
            if patch.etags is not None and f'"{version_of(before)}"' not in patch.etags:
                raise StateChangedError(
                    f"The state's version is {version_of(before)}, and If-Match names {patch.etags[0][:80]!r}. Read it "
                    "again."
                )
            _check(before, after, patch.changes)
            session: dict[str, Any] = {
                "type": "session",
                "session_id": thread_key(address, view.head.epoch),
                "service_session_id": None,
                **(session_state(view.conversation) or {}),
                "state": after,
            }
            keeps = after or session["service_session_id"] is not None
            write = WriteSession(self._log.clocks.wall(), view.head.position, session if keeps else None)
            decided = await self._holders.execute(address, write)
            match decided.outcome:
                case Refused(error=ThreadChangedError()):
                    continue
                case Refused(error=error, signal=signal):
                    if signal:
                        await self._signals.delete(address, client)
                    raise copy(error)
                case Change():
                    await self._signals.store(address, decided.events[-1][0], client)
                    return after
        raise ThreadChangedError("The thread changed each time that its state was to be written. Try again.")


def refuse_without_session(agent: AgentPlan) -> None:
    """Raise `StateRefusedError` for an agent whose providers get no session that the app keeps."""
    if agent.workflow is not None or not takes_state(agent.agent):
        raise StateRefusedError(f"Agent {agent.name!r} keeps no session in its threads: it has no state to write.")


def refuse_reserved(agent: AgentPlan, changes: Mapping[str, Any]) -> None:
    """Raise `StateRefusedError` for a member of the state that no patch may change."""
    reserved = dict(_reserved(agent))
    for name in changes:
        for source, reason in reserved.items():
            if name == source or name.startswith(f"{source} "):
                raise StateRefusedError(f"The member {name[:80]!r} of the state is reserved: {reason}")


def _reserved(agent: AgentPlan) -> Iterator[tuple[str, str]]:
    """Yield the names of reserved members, each with what to use instead."""
    yield KEY, "it is the state that pages share with the agent. Write it over AG-UI."
    rules = "it has the standing approvals. Answer an approval with 'always', or withdraw one."
    yield DEFAULT_TOOL_APPROVAL_SOURCE_ID, rules
    for item in getattr(agent.agent, "middleware", None) or ():
        if isinstance(item, ToolApprovalMiddleware):
            yield item.source_id, rules
    if (source := history_source(agent.agent, agent.name)) is not None:
        yield source, "it is the agent's history. Put messages in with POST .../messages."
    for provider in getattr(agent.agent, "context_providers", None) or ():
        if type(provider).__module__.partition(".")[0] == _OURS:
            yield provider.source_id, "this app keeps it. Its own routes and tools change it."


def _check(before: Mapping[str, Any], after: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Raise a `HostingError` for a state that no run could begin with, or that only the framework may write."""
    for name in changes:
        if any(keeps_rules(state.get(name)) or _has_messages(state.get(name)) for state in (before, after)):
            raise StateRefusedError(f"The member {name[:80]!r} of the state is reserved: it has approvals or messages.")
    if _restored(changes) != changes:
        raise InvalidFieldError(
            "The field 'state' has an object with the 'type' of one of agent-framework's classes, which only the "
            "agent's own code may keep. Leave that 'type' out."
        )
    _restored(after)
    size = len(_text(after).encode(errors="surrogatepass"))
    if size > MOST_STATE_BYTES and size > len(_text(before).encode(errors="surrogatepass")):
        raise StateTooLargeError(f"The state would have {size:,} bytes as JSON; the limit is {MOST_STATE_BYTES:,}.")


def _restored(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state as the framework gives it to an agent; raises `InvalidFieldError` where it cannot."""
    try:
        restored: dict[str, Any] = AgentSession.from_dict({"session_id": "", "state": dict(state)}).state
    except Exception as error:  # whatever a class of the app raises for what it cannot read
        raise InvalidFieldError(
            "The field 'state' changes an object of one of agent-framework's classes so that it cannot be read any "
            "more. Leave its members as they are, or remove it whole."
        ) from error
    return restored


def _has_messages(value: object) -> bool:
    return has_messages(_restored({"": value})[""]) if isinstance(value, dict) else False


def _text(state: Mapping[str, Any]) -> str:
    return json.dumps(state, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
