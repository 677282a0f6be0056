"""Messages that join a run while it works: where its model gets them, and where its history keeps them.

Theory. A run that took a message has it in its log with the number of a model call. Before that call the message is put
behind the newest results of tools, and stays there in all later calls: the framework's loop knows nothing of it, so it
is put there each time. Where the provider or the history keeps what each call was sent, the call has the message once.
A message joins behind results only: a model that was asked nothing yet, or was not asked again, gets a run of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from agent_framework import ChatContext, Message
from msgspec import Struct, field

from hosting.core.agent.held_run import HeldRun
from hosting.core.agent.history import is_of_thread
from hosting.core.thread.messages import framework_messages


class _Joint(Struct, frozen=True):
    """Messages that joined behind a message, which had the run's tool result of that number."""

    anchor: Message
    results: int
    messages: Sequence[Message]


class JoinedMessages(Struct, eq=False):
    """The messages that joined one attempt of a run so far."""

    _joints: list[_Joint] = field(default_factory=list)
    _results: int = 0

    @property
    def messages(self) -> list[Message]:
        """All of them, in their order."""
        return [message for joint in self._joints for message in joint.messages]

    def count(self, messages: Sequence[Message]) -> bool:
        """Take the messages of the next model call; return whether any may join it: tools have answered since."""
        own = (message for message in reversed(messages) if not is_of_thread(message))
        newest = takewhile(lambda message: message.role != "assistant", own)
        results = _results_in(newest)
        self._results += results
        return results > 0

    async def before(self, context: ChatContext, held: HeldRun, number: int, *, takes: bool) -> list[Message]:
        """Have the model call get the messages that join the run before it, and those that did before; return all.

        Without `takes` it is replayed, and no other message joins it. Raises as `HeldRun.append` does.
        """
        messages = list(context.messages)
        if self.count(messages) and takes:
            await held.take_steering(number)
        self.join(messages, [message for run in held.joined(number) for message in framework_messages(run.messages)])
        if self._joints:
            context.messages = messages = self.shown(messages)
        return messages

    def join(self, messages: Sequence[Message], joined: Sequence[Message]) -> None:
        """Have these messages stand behind those of the model call."""
        if joined:
            self._joints.append(_Joint(messages[-1], self._results, joined))

    def shown(self, messages: list[Message]) -> list[Message]:
        """Return the messages of a model call with those that joined, each where it did."""
        for joint in self._joints:
            place = next((index for index, message in enumerate(messages) if message is joint.anchor), None)
            if place is not None:
                end = place + 1
                messages = [*messages[:end], *joint.messages, *messages[end:]]
        return messages

    def within(self, history: Sequence[Message]) -> list[Message]:
        """Return the messages that the run added to its history with those that joined, each where it did."""
        whole: list[Message] = []
        left, results = list(self._joints), 0
        for message in history:
            whole.append(message)
            results += _results_in([message])
            while left and left[0].results <= results:
                whole += left.pop(0).messages
        return [*whole, *(message for joint in left for message in joint.messages)]


def _results_in(messages: Iterable[Message]) -> int:
    return sum(content.type == "function_result" for message in messages for content in message.contents)
