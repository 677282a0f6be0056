"""The text and the calls of a run so far, once for all readers: events and deltas become items, also if sent twice.

Theory. The log and the deltas before it have the same text, by its offset. `Transcript` puts both together and cuts the
text into messages: one goes on until the agent calls a tool or ends. Text is void once a later attempt or the answer
itself has another in its place, and its whole message with it. What of such a message stands comes again, in a new one.
So what a reader got before stands, or is void by an item. The wires and our own documents are projections of these
items: they give them their protocol's names, ids and order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import Struct, field

from hosting.core.agent.causes import cause_sentence
from hosting.core.broadcast import DeltaText, Update
from hosting.core.outcome import completed_text
from hosting.core.thread import events
from hosting.core.thread.run import Cancelling, Run, common_length, contents_text, difference, with_delta
from hosting.names import is_step_key
from hosting.visible import visible
from state.json_values import portable_value


class AgentMessage(Struct, eq=False):
    """Text of the agent, from `start` of the run's text on. That of a void message counts no more.

    As an item: it has ended, and no text of it comes any more.
    """

    start: int
    text: str = ""
    is_void: bool = False


class TextAdded(NamedTuple):
    """A message goes on by a text, or begins with it."""

    message: AgentMessage
    text: str


class TextVoided(NamedTuple):
    """The text of these messages counts no more, because of a later attempt, or because it `is_rewritten` itself."""

    messages: tuple[AgentMessage, ...]
    is_rewritten: bool


class ThoughtAdded(NamedTuple):
    """The agent thinks on, by a text that its callers may read. Any other item ends the thought.

    Those since the newest answer of the model are void once a later attempt claims the run: it thinks anew.
    """

    text: str


class CalledTool(Struct, eq=False):
    """A tool call of a run. It has started, again by each attempt that makes it, until it has an `outcome`.

    That is a `result` or an `error`. `sent` are the arguments as the model sent them, if the answer in which it asked
    for the call `is_recorded` in the run, and otherwise those with which the call was made.
    """

    key: str
    tool: str = ""
    sent: Any = None
    is_recorded: bool = False
    outcome: dict[str, str] = field(default_factory=dict)

    @property
    def call_id(self) -> str:
        """The model's own id of the call."""
        return self.key.partition(".")[2]

    @property
    def arguments(self) -> Any:
        """The arguments as a value: some models' clients keep the JSON text of them."""
        if not isinstance(self.sent, str):
            return self.sent or {}
        try:
            return portable_value(json.loads(self.sent))
        except (ValueError, RecursionError):
            return self.sent


Written = TextAdded | AgentMessage | TextVoided | ThoughtAdded
Item = events.OfRun | events.ModelResult | events.Progressed | events.Terminal | Written | CalledTool


class CalledTools:
    """The tool calls of a run by their keys: the model's answer has the arguments, or else the call's event.

    `names_causes`: the outcomes say what a tool raised, which is foreign text and for the developer of the tool alone.
    """

    def __init__(self, *, names_causes: bool) -> None:
        self._names_causes = names_causes
        self._calls: dict[str, CalledTool] = {}

    def asked(self, answer: events.ModelResult) -> list[CalledTool]:
        """Take the calls that the model asked for, and return them."""
        contents = (
            content for message in answer.response.get("messages", ()) for content in message.get("contents", ())
        )
        calls = [
            CalledTool(f"{answer.key}.{call.get('call_id')}", str(call.get("name")), call.get("arguments"), True)
            for call in contents
            if call.get("type") == "function_call"
        ]
        self._calls |= {call.key: call for call in calls}
        return calls

    def of(self, event: events.ToolStarted | events.ToolResult) -> CalledTool:
        """Take the start or the outcome of a call, and return the call."""
        call = self._calls.setdefault(event.key, CalledTool(event.key))
        if isinstance(event, events.ToolStarted):
            call.tool, call.sent, call.outcome = event.name, event.arguments or call.sent, {}
        else:
            call.outcome = self._outcome(event)
        return call

    def _outcome(self, event: events.ToolResult) -> dict[str, str]:
        if event.interrupted:
            return {"error": "The process ended while the tool was running. It may have done its work."}
        if event.error is None:
            return {"result": (event.text or "") if event.contents is None else contents_text(event.contents)}
        if self._names_causes and f"{event.raised}{event.error}".strip():
            return {"error": f"The tool failed: {cause_sentence(event.raised, event.error)}"}
        return {"error": "The tool failed."}


class Transcript:
    """One run: `next` returns the items of an update. `run` is the fold of its log, and `text` also has unlogged text.

    `names_causes` as in `CalledTools`. `reads_answers`: a run without a stream has the text of its recorded model
    answers; otherwise it has none before its end.
    """

    def __init__(self, run: Run, *, names_causes: bool = False, reads_answers: bool = False) -> None:
        self.run = run.begun
        self.text = ""
        self._reads_answers = reads_answers and not run.accepted.streamed
        self._thoughts, self._stable, self._goes_on = "", (0, 0), False
        self._messages: list[AgentMessage] = []
        self._open: AgentMessage | None = None
        self._calls = CalledTools(names_causes=names_causes)

    def next(self, update: Update) -> list[Item]:
        """Take one more update, and return the new items."""
        if isinstance(update, DeltaText):
            return self._delta(update.offset, update.text)
        event, self.run = update.event, self.run.after(update.position, update.event)
        match event:
            case events.Delta():
                return self._delta(event.offset, event.text)
            case events.Thought() if (change := difference(self._thoughts, event.offset, event.text)) is not None:
                self._thoughts = with_delta(self._thoughts, *change)
                self._goes_on |= self._open is not None
                return [*self._end_message(), ThoughtAdded(change[1])]
            case events.Claimed() if event.attempt > 1:
                self._thoughts, self._goes_on = self._thoughts[: self._stable[1]], False
                return [event, *self._begin_again()]
            case events.ModelResult():
                self._calls.asked(event)
                return [] if event.within else self._take_answer(event)
            case events.Checkpointed():
                self._mark_stable()
            case events.Progressed():
                return [event]
            case events.ToolStarted() if not is_step_key(event.key):
                return [*self._end_message(), self._calls.of(event)]
            case events.ToolResult() if not is_step_key(event.key):
                return [self._calls.of(event)]
            case events.Completed():  # an agent's own middleware can change the text that was sent
                return [*self._become(completed_text(event)), *self._end_message(), event]
            case events.Failed() | events.TimedOut() | events.Cancelled() | events.Joined():  # or it took another run
                return [*self._end_message(), event]
            case events.Accepted() | events.Claimed():
                return [*self._end_message(), event]
        return []

    def _begin_again(self) -> list[Item]:
        """A later attempt writes anew the text that it does not know, unless it only ends the run."""
        prefix = self.text if isinstance(self.run.state, Cancelling) else self.text[: self._stable[0]]
        items: list[Item] = [self._void(len(prefix), is_rewritten=False)]
        rest = prefix[len(self.text) :]
        return [*items, self._add(rest)] if rest else items

    def _take_answer(self, answer: events.ModelResult) -> list[Item]:
        texts = (contents_text(message.get("contents", ())) for message in answer.response.get("messages", ()))
        read = self._become("\n\n".join(filter(None, [self.text, *texts]))) if self._reads_answers else []
        self._mark_stable()
        return [*read, *self._end_message(), answer]

    def _mark_stable(self) -> None:
        """Later attempts know what is there by now, and what the model says next begins an answer."""
        self._stable, self._goes_on = (len(self.text), len(self._thoughts)), False

    def _delta(self, offset: int, text: str) -> list[Item]:
        if offset == len(self.text) and text:  # nearly always
            return [self._add(text)]
        change = difference(self.text, offset, text)
        return [] if change is None else self._put(*change)

    def _become(self, text: str) -> list[Item]:
        same = common_length(self.text, text)
        return [] if text == self.text else self._put(same, text[same:])

    def _put(self, offset: int, text: str) -> list[Item]:
        if offset >= len(self.text):
            return [self._add(text)]
        prefix = self.text[:offset]
        voided = self._void(offset, is_rewritten=True)
        return [voided, self._add(prefix[len(self.text) :] + text)]

    def _void(self, offset: int, *, is_rewritten: bool) -> TextVoided:
        """Void the messages with text after `offset`; the text ends where the first of them began."""
        void = tuple(
            message for message in self._messages if message.start + len(message.text) > offset or message is self._open
        )
        for message in void:
            message.is_void = True
        self._messages, self._open = [message for message in self._messages if not message.is_void], None
        self.text = self.text[: min([offset, *(message.start for message in void)])]
        return TextVoided(void, is_rewritten)

    def _add(self, text: str) -> TextAdded:
        message = self._open
        if message is None:
            if self.text and text.startswith("\n\n") and not self._goes_on:  # between two messages
                self.text, text = f"{self.text}\n\n", text[2:]
            message = self._open = AgentMessage(len(self.text))
            self._messages.append(message)
        self.text += text
        message.text += text
        return TextAdded(message, text)

    def _end_message(self) -> Iterable[Item]:
        ended, self._open = self._open, None
        return () if ended is None else (ended,)


def arguments_text(arguments: Any) -> str:
    """Return a call's arguments as JSON text, which most protocols have; some models' clients keep the text.

    Clients show it to the deciding person as it is: invisible characters are written out, and it is the same JSON.
    """
    return visible(arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False))
