"""The proxy of a hosted agent: what an orchestration calls in the agent's place.

Theory. An orchestrator is replayed, so a proxy decides nothing by itself: ids come from the orchestration, in the order
of the calls, and whatever is wrong with a call is refused where it is made, before anything is sent. The same call made
again therefore carries the same run id, and the entity answers it from the run log. How a call travels is the
`Orchestration`'s matter, so that one proxy serves every durable SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from agent_framework import AgentResponse

from hosting.called_answer import Call, read_answer
from hosting.durable_session import DurableAgentSession, check_session
from hosting.errors import InvalidFieldError
from hosting.identity import check_thread_id
from hosting.spoken_message import SpokenInput, spoken_fields
from hosting.wanted_format import wanted_format

TaskT = TypeVar("TaskT")
_TaskT_co = TypeVar("_TaskT_co", covariant=True)
ReadAnswer = Callable[[object], AgentResponse[Any]]


class Orchestration(Protocol[_TaskT_co]):
    """The running orchestration, as far as a proxy needs it."""

    @property
    def instance_id(self) -> str:
        """The orchestration's id, which the stored request names."""

    def new_id(self) -> str:
        """Return an id of 32 hexadecimal digits, the same one at every replay."""

    def call(self, call: Call, fields: Mapping[str, Any], read: ReadAnswer) -> _TaskT_co:
        """Return the task of one `run` operation; its result is `read(result)`, its failure what `read` raises.

        A refusal by the entity reaches `read` as the exception that the SDK made of it.
        """


@dataclass(frozen=True)
class DurableAgent(Generic[TaskT]):
    """A hosted agent inside an orchestration: `run` returns a task to `yield`, alone or in task_all and task_any."""

    name: str
    description: str
    orchestration: Orchestration[TaskT]

    def create_session(self, *, session_id: str | None = None) -> DurableAgentSession:
        """Return a new conversation, or the one of this thread id; raises `InvalidThreadIdError`."""
        return self.get_session(session_id or self.orchestration.new_id())

    def get_session(self, session_id: str) -> DurableAgentSession:
        """Return the conversation of a thread id, wherever it began; raises `InvalidThreadIdError`."""
        return DurableAgentSession(self.name, check_thread_id(session_id, self.name))

    def run(
        self,
        messages: SpokenInput,
        *,
        session: DurableAgentSession | None = None,
        response_format: object = None,
        options: Mapping[str, Any] | None = None,
    ) -> TaskT:
        """Return the task of one run; its result is an agent-framework `AgentResponse`.

        Without a session the run has a conversation of its own. `options` takes `response_format` and
        `enable_tool_calls`. A wrong call raises a `HostingError` here; a run that ends without an answer raises
        `AgentRunError` where the task is yielded.
        """
        thread = self.create_session() if session is None else check_session(session, self.name)
        given = _checked_options(options, response_format)
        wanted = wanted_format(given.pop("response_format", None))
        call = Call(self.name, thread.thread_id, self.orchestration.new_id(), wanted)
        fields = {
            **spoken_fields(messages),
            **given,
            "correlationId": call.run_id,
            "orchestrationId": self.orchestration.instance_id,
        }
        if wanted.sent is not None:
            fields["response_format"] = wanted.sent
        return self.orchestration.call(call, fields, lambda result: read_answer(call, result))


def _checked_options(options: Mapping[str, Any] | None, response_format: object) -> dict[str, Any]:
    """Return `response_format` and `enable_tool_calls` as far as they are given; refuse everything else."""
    given = {name: value for name, value in (options or {}).items() if value is not None}
    if response_format is not None and given.setdefault("response_format", response_format) is not response_format:
        raise InvalidFieldError("response_format is given twice, in options too. Give it once.")
    if given.pop("wait_for_response", True) is not True:
        raise InvalidFieldError(
            "wait_for_response must be true: in an orchestration a run is waited for. Leave it out."
        )
    if not isinstance(given.get("enable_tool_calls", True), bool):
        raise InvalidFieldError(f"enable_tool_calls is {given['enable_tool_calls']!r:.80}. Give True or False.")
    for name in given:
        if name not in ("response_format", "enable_tool_calls"):
            raise InvalidFieldError(
                f"The option {name!r:.80} is not served. Known: response_format, enable_tool_calls. "
                "Options of the model are the agent's own: set them where it is made."
            )
    return given
