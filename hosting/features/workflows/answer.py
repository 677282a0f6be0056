"""The answer of a workflow: its executors' yielded values, one after the other, as one response of an agent.

Theory. Executors of one superstep work side by side, and each yields when it can. Their words would be mixed, so one
executor speaks at a time: the first that yielded something. What the others yield waits until that one has completed.
A message, a text or an agent's answer is what it is; every other value is JSON text, and the run's `value` besides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from agent_framework import AgentResponse, AgentResponseUpdate, Content, Message, WorkflowEvent
from msgspec import Struct, field
from pydantic import TypeAdapter

from hosting.core.agent.agent_runner import with_value
from hosting.core.agent.finish_reasons import reason_of_no_answer
from hosting.core.thread.finish import is_cut
from hosting.workflows import json_text
from state.json_values import to_json_value

OnUpdate = Callable[[AgentResponseUpdate], None]
_ON_THE_WAY = ("intermediate", "data")
"""The framework's events of what an executor yields besides the output."""


class WorkflowAnswer(Struct):
    """Folds a run's events to its answer; `on_update` is called with each part of it, in order.

    An agent's answer also has what is yielded on the way, and no values: `contents_of` says them in its words.
    """

    on_update: OnUpdate
    contents_of: Callable[[Any], list[Content]] | None = None
    updates: list[AgentResponseUpdate] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    has_values: bool = False
    _speaker: str | None = None
    _waiting: dict[str, list[AgentResponseUpdate]] = field(default_factory=dict)
    _completed: set[str] = field(default_factory=set)
    _count: int = 0
    counts: tuple[int, int] = (0, 0)

    def add(self, event: WorkflowEvent[Any]) -> None:
        """Take the next event; those that add nothing to the answer change nothing."""
        if event.type == "output" or (self.contents_of is not None and event.type in _ON_THE_WAY):
            executor = event.executor_id or ""
            self._completed.discard(executor)
            if self._speaker is None:
                self._speaker = executor
            for update in self._updates(executor, event.data):
                if executor == self._speaker:
                    self._say(update)
                else:
                    self._waiting.setdefault(executor, []).append(update)
        elif event.type == "executor_completed":
            self._completed.add(event.executor_id or "")
            self._pass_on()

    def response(self) -> AgentResponse[Any]:
        """Return the answer so far. Its value is the only yielded one, or the list of all.

        A part of it that is no whole one makes the answer none, whatever came after it.
        """
        self._flush()
        response: AgentResponse[Any] = AgentResponse.from_updates(self.updates)
        cut = (update.finish_reason for update in self.updates if is_cut(update.finish_reason))
        none = reason_of_no_answer(response.messages)
        response.finish_reason = none or next(cut, response.finish_reason)
        if not self.has_values:
            return response
        return with_value(response, self.values[0] if len(self.values) == 1 else self.values)

    def _pass_on(self) -> None:
        """Let the next executor send text once the current one has completed."""
        while self._speaker in self._completed:
            self._completed.discard(self._speaker)
            self._speaker = next(iter(self._waiting), None)
            for update in self._waiting.pop(self._speaker, ()) if self._speaker is not None else ():
                self._say(update)

    def restore(self, updates: Sequence[AgentResponseUpdate], values: Sequence[Any]) -> None:
        """Take the values yielded before the checkpoint from which a later attempt begins."""
        self.updates += updates
        self.values += values
        self.has_values = any(not isinstance(value, str) for value in values)
        self.counts = (len(self.updates), len(self.values))

    def take(self) -> tuple[list[AgentResponseUpdate], list[Any]]:
        """Return the values yielded since the last time; a waiting executor comes first, as a superstep has ended."""
        self._flush()
        before, self.counts = self.counts, (len(self.updates), len(self.values))
        return self.updates[before[0] :], self.values[before[1] :]

    def _flush(self) -> None:
        for update in [update for updates in self._waiting.values() for update in updates]:
            self._say(update)
        self._waiting.clear()
        self._completed.clear()
        self._speaker = None

    def _say(self, update: AgentResponseUpdate) -> None:
        self.updates.append(update)
        self.on_update(update)

    def _updates(self, executor: str, data: Any) -> list[AgentResponseUpdate]:
        """Return an executor's yielded value as updates; a model's are copied, because the executor keeps them."""
        if isinstance(data, AgentResponseUpdate):
            update = self._update(executor, list(data.contents), data.role, data.author_name, data.message_id)
            update.finish_reason = data.finish_reason
            return [update]
        if isinstance(data, AgentResponse):
            contents = [Content.from_usage(data.usage_details)] if data.usage_details else []
            used = [self._update(executor, contents, "assistant")] if contents else []
            updates = [*self._of_messages(executor, data.messages), *used]
            if updates:
                updates[-1].finish_reason = data.finish_reason
            return updates
        if isinstance(data, Message):
            return self._of_messages(executor, [data])
        if isinstance(data, list) and data and all(isinstance(item, Message) for item in data):
            return self._of_messages(executor, data)
        if self.contents_of is not None:
            contents = self.contents_of(data)
            return [self._new(executor, contents)] if contents else []
        if isinstance(data, Content):
            return [self._new(executor, [data])]
        value = plain_value(data)
        self.values.append(value)
        if not isinstance(data, str):
            self.has_values = True
        return [self._new(executor, [Content.from_text(data if isinstance(data, str) else json_text(value))])]

    def _of_messages(self, executor: str, messages: list[Message]) -> list[AgentResponseUpdate]:
        return [
            self._new(
                executor, list(message.contents), message.role, message.author_name or executor, message.message_id
            )
            for message in messages
        ]

    def _new(
        self,
        executor: str,
        contents: list[Content],
        role: Any = "assistant",
        author: str | None = None,
        message_id: str | None = None,
    ) -> AgentResponseUpdate:
        """Return a message of its own, with its id where it has one that no message before has.

        By that an agent knows, in the next turn, the messages of the conversation that it has itself.
        """
        self._count += 1
        if message_id is None or any(update.message_id == message_id for update in self._yielded):
            message_id = f"{executor}-{self._count}"
        return self._update(executor, contents, role, author, message_id)

    @property
    def _yielded(self) -> list[AgentResponseUpdate]:
        return [*self.updates, *(update for updates in self._waiting.values() for update in updates)]

    def _update(
        self,
        executor: str,
        contents: list[Content],
        role: Any,
        author: str | None = None,
        message_id: str | None = None,
    ) -> AgentResponseUpdate:
        return AgentResponseUpdate(
            contents=contents, role=role, author_name=author or executor, message_id=message_id or None
        )


def plain_value(data: Any, levels: int = 4) -> Any:
    """Return an executor's yielded value or question as a JSON value; other values as their text.

    Messages are their texts and contents the framework's own form, also as members of a dataclass, down to so many
    levels.
    """
    if isinstance(data, Message | AgentResponse):
        return data.text
    if isinstance(data, Content):
        return to_json_value(data.to_dict())
    try:
        return to_json_value(TypeAdapter(type(data)).dump_python(data, mode="json"))
    except Exception:  # any class may be yielded, and its code runs here
        if levels and isinstance(data, list):
            return [plain_value(item, levels - 1) for item in data]
        if levels and is_dataclass(data):
            return {member.name: plain_value(getattr(data, member.name), levels - 1) for member in fields(data)}
        return str(data)
