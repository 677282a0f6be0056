"""The proxy of a hosted agent, which an orchestration or a client calls instead of the agent.

Theory. An orchestrator is replayed, so a proxy decides nothing by itself: ids come from the caller, in the order of the
calls, and whatever is wrong with a call is refused where it is made, before anything is sent. The same call made again
by an orchestration therefore carries the same run id, and the entity answers it from the log. How a call travels is
the `AgentCaller`'s matter, so that one proxy serves every durable SDK, inside orchestrations and outside of them.

A conversation as an orchestration holds it: an agent's name and a thread id, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from hosting.core.entity.called_run import AgentCall, MessageInput, message_fields, result_format
from hosting.core.request.fields import CONTEXT, METADATA, THREAD_METADATA
from hosting.errors import InvalidFieldError
from hosting.metadata import Metadata, Value, read_metadata, read_present
from hosting.model_options import OPTION_NAMES, OPTIONS, split_options
from hosting.names import BUSY, Busy, check_thread_id
from hosting.options import Retry
from hosting.principal import Principal, owner_of
from hosting.run_context import read_run_context


class DurableAgentSession(Struct, frozen=True):
    """One thread of one agent and owner; runs with the same session are one conversation.

    Not a subclass of the framework's `AgentSession`: values written into its `state` would be lost, for
    the state of a hosted session lives in the agent's entity.
    """

    agent: str
    thread_id: str
    owner: Principal | None = None

    @property
    def session_id(self) -> str:
        """The thread's id under the framework's name."""
        return self.thread_id


def check_session(session: object, agent: str, owner: Principal | None) -> DurableAgentSession:
    """Return the session if it belongs to this agent; else raise `InvalidFieldError`."""
    if not isinstance(session, DurableAgentSession):
        raise InvalidFieldError(
            f"session is a {type(session).__name__}. Use this agent's create_session() or get_session(id)."
        )
    if session.agent.lower() != agent.lower():
        raise InvalidFieldError(
            f"The session belongs to agent {session.agent!r} and cannot be used with {agent!r}. Use a session from "
            f"the create_session() of {agent!r}."
        )
    if owner_of(session.owner) != owner_of(owner):
        raise InvalidFieldError(
            "The session belongs to another owner. Use a session from this agent's create_session(), or get the agent "
            "for that owner."
        )
    return session


TaskT = TypeVar("TaskT")
_TaskT_co = TypeVar("_TaskT_co", covariant=True)


class AgentCaller(Protocol[_TaskT_co]):
    """The caller, a running orchestration or a client, as far as a proxy needs it."""

    @property
    def orchestration_id(self) -> str | None:
        """The orchestration's id, which the stored request names; None for a client."""

    def new_id(self) -> str:
        """Return an id of 32 hexadecimal digits; an orchestration's is the same one at every replay."""

    def call(self, call: AgentCall, fields: Mapping[str, Any]) -> _TaskT_co:
        """Return the task of one `run` operation.

        A refusal by the entity is read as the exception that the SDK made of it.
        """


class DurableAgent(Struct, Generic[TaskT], frozen=True):
    """A hosted agent as its caller has it.

    In an orchestration `run` returns a task to `yield`, alone or in task_all and task_any; a client's `run` returns the
    response, an asynchronous client's what gives it when it is awaited.
    """

    name: str
    description: str
    caller: AgentCaller[TaskT]
    retry: Retry | None = None
    owner: Principal | None = None

    def create_session(self, *, session_id: str | None = None) -> DurableAgentSession:
        """Return a new session, or the session of this thread id; raises `InvalidThreadIdError`."""
        return self.get_session(session_id or self.caller.new_id())

    def get_session(self, session_id: str) -> DurableAgentSession:
        """Return the conversation of a thread id, wherever it began; raises `InvalidThreadIdError`.

        One of another package may have any id that the engine takes: without that thread its entity refuses the run.
        """
        thread_id = check_thread_id(session_id, self.name, owner_of(self.owner), is_stored=True)
        return DurableAgentSession(self.name, thread_id, self.owner)

    def run(
        self,
        messages: MessageInput,
        *,
        session: DurableAgentSession | None = None,
        response_format: object = None,
        options: Mapping[str, Any] | None = None,
        retry: Retry | None = None,
        busy: Busy = "queue",
        context: Mapping[str, Any] | None = None,
        metadata: Metadata | None = None,
        thread_metadata: Mapping[str, Value | None] | None = None,
    ) -> TaskT:
        """Return a task for the response of one run, an agent-framework `AgentResponse`.

        Without a session the run has a conversation of its own. `options` takes `response_format`, `enable_tool_calls`
        and those of the model that the agent lets callers set; the response names the others in
        `additional_properties["ignored"]`. Without a `retry` the proxy's counts, or else the agent's own. `busy` is
        what becomes of a client's call while a run of the session has not ended. The agent's code reads the `context`,
        its model does not; `metadata` is the run's, and `thread_metadata` changes the session's.

        A wrong call raises a `HostingError` here; a run that ends without an answer raises `AgentRunError` where the
        response would come.
        """
        if busy != "queue" and self.caller.orchestration_id is not None:
            raise InvalidFieldError(
                f"busy is {str(busy)[:80]!r}. In an orchestration calls always wait for the run before them. Leave it "
                "out."
            )
        thread = self.create_session() if session is None else check_session(session, self.name, self.owner)
        model_options, others = split_options(options)
        choices = _checked_options(others, response_format)
        answer_format = result_format(choices.pop("response_format", None))
        call = AgentCall(self.name, thread.thread_id, self.caller.new_id(), answer_format, self.owner)
        fields = {
            **message_fields(messages),
            **choices,
            "correlationId": call.run_id,
            "orchestrationId": self.caller.orchestration_id,
            "response_format": answer_format.sent,
            OPTIONS: model_options or None,
            "retry": _carried(retry or self.retry),
            BUSY: None if busy == "queue" else busy,
            CONTEXT: None if context is None else read_run_context(CONTEXT, dict(context)),
            METADATA: None if metadata is None else read_present(METADATA, dict(metadata)),
            THREAD_METADATA: None if thread_metadata is None else read_metadata(THREAD_METADATA, dict(thread_metadata)),
            "principal": None if self.owner is None else asdict(self.owner),
        }
        return self.caller.call(call, {name: value for name, value in fields.items() if value is not None})


def _carried(retry: object) -> dict[str, float] | None:
    if retry is not None and not isinstance(retry, Retry):
        raise InvalidFieldError(f"retry is a {type(retry).__name__}. Give a {Retry.__module__}.Retry.")
    return None if retry is None else retry.fields()


def _checked_options(options: Mapping[str, Any], response_format: object) -> dict[str, Any]:
    """Return `response_format` and `enable_tool_calls` as far as they are given; refuse everything else."""
    choices = dict(options)
    if response_format is not None and choices.setdefault("response_format", response_format) is not response_format:
        raise InvalidFieldError("response_format stands in options too. Give it once.")
    if choices.pop("wait_for_response", True) is not True:
        raise InvalidFieldError("wait_for_response must be true: a call waits for its run. Leave it out.")
    if not isinstance(choices.get("enable_tool_calls", True), bool):
        raise InvalidFieldError(f"enable_tool_calls is {choices['enable_tool_calls']!r:.80}. Give True or False.")
    for name in choices:
        if name not in ("response_format", "enable_tool_calls"):
            known = ", ".join(("response_format", "enable_tool_calls", *OPTION_NAMES))
            raise InvalidFieldError(f"The option {name!r:.80} is not served. Known: {known}.")
    return choices
