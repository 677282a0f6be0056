"""A caller's request to an agent, an agent's requests for approval, and other values that the events carry.

Each is parsed at the border and frozen. Stored ones are read again by every later version, which ignores members that
it does not know.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from operator import not_
from typing import Any, Literal, get_args

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field

from hosting.authorizations import Authorization
from hosting.client_tools import ClientTool
from hosting.errors import InvalidFieldError, InvalidOutputError, RunFailedError
from hosting.metadata import Value
from hosting.names import Busy
from hosting.options import Retry
from hosting.ports import Wait
from hosting.principal import Caller

GrantedAccess = Literal["read", "run"]
Notified = Literal["", "address", "receivers"]
OF_TASK = "task:"
"""Stands for the address if the run's task has its own receivers (`features.webhooks.receivers`); the id of the run
that began the task follows, unless it is the run itself."""
LONGEST_NAME = 128
"""Bytes of an issuer or an id that a request names: they stand in the head of a thread."""

RETRIED = frozenset({RunFailedError.code, InvalidOutputError.code})
"""Ends that another try may change; a time limit, a cancel and a refusal are for good."""


def read_retry(value: object) -> Retry | None:
    """Return the `retry` of a request, or None; raises `InvalidFieldError`."""
    if value is None:
        return None
    names = [field.name for field in fields(Retry)]
    if not isinstance(value, Mapping) or not set(value) <= set(names):
        raise InvalidFieldError(f"The field 'retry' is {value!r:.80}. Send an object of {', '.join(names)}.")
    return Retry(**value)


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ResponseFormat(_Value):
    """The requested answer: a value of the JSON Schema, or without a schema any JSON object.

    The rest is what OpenAI's form says to the model: a name, a description and whether it must be `strict`.
    """

    json_schema: dict[str, Any] | None = None
    name: str = "response"
    description: str | None = None
    strict: bool | None = None

    def envelope(self) -> dict[str, Any]:
        """Return OpenAI's form, which every client of agent-framework takes."""
        if self.json_schema is None:
            return {"type": "json_object"}
        members = self.model_dump(include={"name", "description", "strict"}, exclude_none=True)
        return {"type": "json_schema", "json_schema": {**members, "schema": self.json_schema}}


Always = Literal["tool", "tool_with_arguments"]
ALWAYS: tuple[Always, ...] = get_args(Always)


class Decision(_Value):
    """A person's decision on the tool call with this approval's id.

    Or their answer to an executor that asked under that id, or a caller's result of a tool of its own: the JSON text of
    the `value`, as it is always written here. Instead of a result there may be the `error` of the caller's tool. A
    `default` is the answer that a tool gave for the case that no person answers in time.
    `always`: the approval stands for later calls in the thread, too. `arguments` is the JSON text of those with which
    the approved call is made in place of the model's.
    """

    id: str
    approved: bool
    reason: str | None = None
    always: Always | None = Field(default=None, exclude_if=lambda always: always is None)
    value: str | None = None
    arguments: str | None = Field(default=None, exclude_if=lambda arguments: arguments is None)
    error: str | None = Field(default=None, exclude_if=lambda error: error is None)
    default: bool = Field(default=False, exclude_if=lambda default: not default)

    @classmethod
    def of_value(cls, id: str, value: Any, reason: str | None = None) -> Decision:  # the member's name
        """Return the answer to an executor's question."""
        return cls(id=id, approved=True, reason=reason, value=json_member(value))

    @property
    def is_plain(self) -> bool:
        """Whether it says no more than yes or no, which every version of the code reads."""
        return self.value is None and self.arguments is None and self.error is None

    def receipt(self) -> Decision:
        """Return the same with the digests of its JSON texts, which are small: they are compared with repeated ones."""
        texts = {name: text for name in ("value", "arguments") if (text := getattr(self, name)) is not None}
        digests = {
            name: hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest() for name, text in texts.items()
        }
        return self.model_copy(update=digests) if digests else self


def json_member(value: Any) -> str:
    """Return the JSON text of a member of a decision: equal values have equal texts."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


class Answering(Struct, frozen=True):
    """A caller's decision on an approval, and how the caller waits for the run that continues if it is the last one.

    A caller that `gives_up` refuses the approval or the question; a workflow that asked ends by that. The `state` is
    that of a `RunRequest`.
    """

    decision: Decision
    caller: Caller
    waits: bool = True
    streamed: bool = False
    wire: Mapping[str, Any] | None = None
    gives_up: bool = False
    state: str | None = None


class UserMessage(_Value):
    """One message of a caller: its text, then its `contents` in stored form; one of them is not empty."""

    message: str = ""
    contents: tuple[dict[str, Any], ...] = ()
    role: str = "user"


def messages_text(messages: Iterable[UserMessage]) -> str:
    """Return the text of messages, joined by a blank line."""
    return "\n\n".join(message.message for message in messages if message.message)


class RunRequest(UserMessage):
    """A caller's request to an agent: parsed, checked, free of transport (no Accept, no wait).

    The message that is to be answered, and the `earlier` ones sent with it. Or, without any, the `decisions` on every
    tool call that waits for approval. With `is_json` the message is the JSON text of a workflow's input. `webhook` is
    the address that is notified of the run's end, or stands for the receivers of the run's task. `options` are those of
    the model, as far as the agent lets its callers choose. The `page_context` is for the model and this run alone. The
    `state` is JSON text, and the run begins with it (`hosting.shared_state`). `metadata` is the run's; that of the
    thread is changed by `thread_metadata` with the same append. The `context` is for the agent's code, not its model.
    """

    earlier: tuple[UserMessage, ...] = ()
    response_format: ResponseFormat | None = None
    enable_tool_calls: bool = True
    orchestration_id: str | None = None
    decisions: tuple[Decision, ...] = ()
    retry: Retry | None = None
    is_json: bool = False
    webhook: str | None = None
    client_tools: tuple[ClientTool, ...] = ()
    options: dict[str, Any] = Field(default_factory=dict, exclude_if=not_)
    page_context: str = ""
    state: str | None = None
    metadata: dict[str, Value] = Field(default_factory=dict, exclude_if=not_)
    thread_metadata: dict[str, Value | None] = Field(default_factory=dict, exclude_if=not_)
    context: dict[str, Any] = Field(default_factory=dict, exclude_if=not_)

    def fingerprint(self, agent: str, thread_id: str | None, *, with_metadata: bool = True) -> str:
        """Return the digest of this request to an agent and the thread that it named; Accept and wait are not in it.

        Members at their defaults are left out, so that a member added later changes no digest that a receipt keeps. So
        are page context and state: a page that sends its run again may show something else by then.
        """
        others = {"page_context", "state", *(() if with_metadata else ("metadata",))}
        members = self.model_dump(mode="json", exclude_defaults=True, exclude=others)
        identity = [agent, thread_id, members]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()

    @property
    def messages(self) -> tuple[UserMessage, ...]:
        """All its messages, the newest last."""
        return (*self.earlier, UserMessage(message=self.message, contents=self.contents, role=self.role))

    @property
    def may_steer(self) -> bool:
        """Whether its messages can join another run: it has nothing else that only a run of its own could do."""
        alone = (self.response_format, self.orchestration_id, self.retry, self.options, self.page_context, self.state)
        is_plain = self.enable_tool_calls and not self.decisions and not self.is_json
        return is_plain and not self.context and not any(alone)

    @property
    def notifies(self) -> Notified:
        """The receiver of the run's end: none, its `webhook`, or the receivers of its task."""
        if self.webhook is None:
            return ""
        return "receivers" if self.webhook.startswith(OF_TASK) else "address"

    def task_run(self, run_id: str) -> str | None:
        """Return the run that began the task with the notified receivers, if any. `run_id` is this run's."""
        if self.webhook is None or not self.webhook.startswith(OF_TASK):
            return None
        return self.webhook.removeprefix(OF_TASK) or run_id

    def webhook_after(self, run_id: str) -> str | None:
        """Return the webhook of a run that goes on with this one; `run_id` is the id of this run."""
        task_id = self.task_run(run_id)
        return self.webhook if task_id is None else OF_TASK + task_id


class StartRun(Struct, frozen=True):
    """A caller's request to run an agent on a thread, and how long the caller waits for the answer.

    `streams`: the run's deltas go to the log as they come, for any reader. `wire` is what a caller on a wire
    sent besides. `follows` is the position of the `accepted` of the run that is to be the thread's newest. `busy` is
    what becomes of the request while another run of the thread has not ended. The thread of a `temporary` one goes once
    it is answered. Its metadata is no part of one that is the same `whatever_metadata` it has when it comes again.
    """

    request: RunRequest
    thread_id: str | None
    wait: Wait
    idempotency_key: str | None = None
    traceparent: str | None = None
    streams: bool = False
    wire: Mapping[str, Any] | None = None
    follows: int | None = None
    busy: Busy = "queue"
    temporary: bool = False
    whatever_metadata: bool = False


PauseKind = Literal["approve", "ask", "client_tool", "authorization"]
"""May the tool be called; a question to a person; a call that the client makes; a sign-in of the run's user."""


class PendingApproval(_Value):
    """What a run waits for. `arguments` is the object or text that the model sent with the call of `tool`.

    To `approve` is a decision on that call. A tool or a workflow's executor that has to `ask` puts a `question`, if it
    is a text, and a workflow has its content in `arguments`. A `client_tool` is called by the caller, who sends the
    result. `answer_schema` is the JSON Schema of the answer to one that is no decision, `arguments_schema` that of the
    arguments with which a decision may have the call made, None where they cannot be changed. A `destructive` call
    cannot be taken back. A question may have a time of its own at which it `expires_at`, and the JSON text of the
    `default` that is its answer then. An `authorization` is a sign-in that the tool needs of the run's user.
    """

    id: str
    tool: str
    arguments: Any
    kind: PauseKind = Field(default="approve", exclude_if=lambda kind: kind == "approve")
    question: str | None = Field(default=None, exclude_if=lambda question: question is None)
    answer_schema: dict[str, Any] | None = None
    arguments_schema: dict[str, Any] | None = Field(default=None, exclude_if=lambda schema: schema is None)
    destructive: bool = Field(default=False, exclude_if=lambda destructive: not destructive)
    expires_at: float | None = Field(default=None, exclude_if=lambda moment: moment is None)
    default: str | None = Field(default=None, exclude_if=lambda default: default is None)
    authorization: Authorization | None = Field(default=None, exclude_if=lambda authorization: authorization is None)

    def end(self, of_run: float | None) -> float | None:
        """Return when it expires, or has its default as the answer; all of its run expire at the end `of_run`."""
        return min((end for end in (of_run, self.expires_at) if end is not None), default=None)


class ExecutorCall(_Value):
    """The work of a workflow's executor on one message: it `yielded` so many outputs, and `asked` so often.

    `ended_at` is 0 while it is at work. A call that raised has `failed`.
    """

    executor: str
    began_at: float
    ended_at: float
    yielded: int = 0
    asked: int = 0
    failed: bool = False


class Superstep(_Value):
    """The current superstep of a workflow: the work of its executors so far, in the order of their start."""

    number: int
    calls: tuple[ExecutorCall, ...]


class InstanceOutcome(_Value):
    """A durable instance in a receipt, and its outcome."""

    id: str
    outcome: str
