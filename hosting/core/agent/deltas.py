"""The text that an agent streams while it runs: passed on at once in this process, and logged in batches.

Theory. A delta goes out when it comes; the log gets it together with others. So the batch is what a crash may make the
model say again, and not what a person waits for. Each delta says its offset in the answer, so that it stands right
whatever was logged twice or repeated. Deltas never come after the step that they precede: a step's append takes the
waiting ones along. A later attempt that replays a recorded model answer logs its text no second time.

An agent's thoughts, where callers may read them, go out when they are logged. Text that follows them goes out behind
them. So each reader has both in the order in which the model wrote them.

`write` is called on the agents' loop, everything else on the log's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from agent_framework import AgentResponseUpdate
from msgspec import Struct

from hosting.core.agent.held_run import HeldRun, StaleTokenError
from hosting.core.thread.events import Delta, Thought
from hosting.core.thread.run import common_length
from hosting.errors import LogUnavailableError

logger = logging.getLogger(__name__)

Streamed = Delta | Thought
OnDelta = Callable[[int, str, int], None]
"""Is called with the offset and the text of a delta, and with the number of the attempt."""


MOST_BATCHES_A_SECOND = 250
"""Of all answers together that a process streams at a time: more would cost it a core that the words need."""


class BatchPace(Struct):
    """How long a delta waits to be logged with more of them, in seconds, and how many characters do not wait.

    The writers of a process share one, and `writing` is how many there are: beyond `MOST_BATCHES_A_SECOND` each of them
    logs less often.
    """

    seconds: float
    characters: int
    writing: int = 0

    @property
    def pause(self) -> float:
        """The wait of one of them now, in seconds."""
        return max(self.seconds, (self.writing - 1) / MOST_BATCHES_A_SECOND)


class AnswerText:
    """The text of a streamed answer as `state.conversation.response_text` joins it: a blank line between messages."""

    def __init__(self) -> None:
        self._message: tuple[str | None, ...] = (None, None, None)
        self._has_text = False
        self._is_new = True

    def next(self, update: AgentResponseUpdate) -> str:
        """Return the text of the update; "" for one without text.

        Another id, author or role begins a message, as it does where the framework joins updates.
        """
        identity = (update.message_id, update.author_name, str(update.role) if update.role else None)
        if any(new and old and new != old for new, old in zip(identity, self._message, strict=True)):
            self._is_new, self._message = True, identity
        else:
            self._message = tuple(new or old for new, old in zip(identity, self._message, strict=True))
        text = "".join(content.text or "" for content in update.contents if content.type == "text")
        if not text:
            return ""
        begins_paragraph = self._is_new and self._has_text
        self._is_new, self._has_text = False, True
        return "\n\n" + text if begins_paragraph else text


class DeltaWriter:
    """The deltas of one attempt, without those of its text, or with its thoughts too.

    `on_delta` is called with each of the text. The run is stopped once another holds it.
    """

    def __init__(
        self, held: HeldRun, pace: BatchPace, on_delta: OnDelta, *, has_text: bool = True, has_thoughts: bool = False
    ) -> None:
        self._held = held
        self._pace = pace
        self._on_delta = on_delta
        self._has_text, self._has_thoughts = has_text, has_thoughts
        self._attempt = held.run.attempts
        self._answer = AnswerText()
        self._loop = asyncio.get_running_loop()
        self._texts: dict[type[Streamed], str] = {Delta: "", Thought: ""}
        self._halves = dict(self._texts)
        self._waiting: list[tuple[type[Streamed], int, str]] = []
        self._thoughts_sent = 0
        self._is_closed = False
        self._hurry = asyncio.Event()
        self._logging: asyncio.Task[None] | None = None
        held.take_deltas = self._take
        held.streamed = lambda: "" if self._thinks else self._texts[Delta]

    def write(self, update: AgentResponseUpdate, *, is_known: bool) -> None:
        """Take the agent's next update; `is_known` when an earlier attempt streamed it and the log has it."""
        thoughts = (content.text or "" for content in update.contents if content.type == "text_reasoning")
        if self._has_thoughts and (thought := "".join(thoughts)):
            self._loop.call_soon_threadsafe(self._write, Thought, thought, is_known)
        if self._has_text and (text := self._answer.next(update)):
            self._loop.call_soon_threadsafe(self._write, Delta, text, is_known)

    async def close(self, answer: str | None) -> tuple[Streamed, ...]:
        """Return what to append with the run's end: the rest that the log lacks, from its offset on.

        The answer differs from the streamed text where an agent's own middleware changed it; None for no answer.
        """
        self._is_closed = True
        self._hurry.set()
        if self._logging is not None:
            await self._logging
        taken, streamed = self._take(), self._texts[Delta]
        text = streamed if answer is None or not self._has_text else _characters(answer)
        if text == streamed:
            return taken
        if not self._thinks:
            same = common_length(text, streamed)
            self._on_delta(same, text[same:], self._attempt)
        logged = streamed[: next((step.offset for step in taken if isinstance(step, Delta)), len(streamed))]
        same = common_length(text, logged)
        self._texts[Delta] = text
        changed = () if text == logged else (self._event(Delta, same, text[same:]),)
        return (*(step for step in taken if isinstance(step, Thought)), *changed)

    @property
    def _thinks(self) -> bool:
        """Whether thoughts wait, behind which text is to be sent."""
        return self._thoughts_sent < len(self._texts[Thought])

    def _write(self, kind: type[Streamed], text: str, is_known: bool) -> None:
        text = self._halves[kind] + text
        half = self._halves[kind] = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""  # waits for its other half
        text = _characters(text[: len(text) - len(half)])
        if not text:
            return
        offset = len(self._texts[kind])
        self._texts[kind] += text
        if is_known:
            self._thoughts_sent = len(self._texts[Thought])
            return
        if kind is Delta and not self._thinks:
            self._on_delta(offset, text, self._attempt)
        before = self._waiting.pop() if self._waiting and self._waiting[-1][0] is kind else (kind, offset, "")
        self._waiting.append((kind, before[1], before[2] + text))
        if (kind is Delta and self._thinks) or len(self._waiting[-1][2]) >= self._pace.characters:
            self._hurry.set()
        if self._logging is None and self._has_text and not self._is_closed:
            self._logging = asyncio.ensure_future(self._log_batches())

    async def _log_batches(self) -> None:
        """Log the first delta at once, and those that come meanwhile together, for as long as there are some."""
        self._pace.writing += 1
        try:
            while (self._waiting or self._thinks) and not self._is_closed:
                self._hurry.clear()
                await self._log_batch()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._hurry.wait(), self._pace.pause)
        finally:
            self._pace.writing -= 1
            self._logging = None

    async def _log_batch(self) -> None:
        thoughts = len(self._texts[Thought])
        try:
            await self._held.append_on_loop()
            self._thoughts_sent = max(self._thoughts_sent, thoughts)
        except LogUnavailableError:
            logger.warning("Run %s: its text waits until the log can be written.", self._held.run_id)
        except StaleTokenError:
            self._is_closed = True
            self._held.stop.request()

    def _take(self) -> tuple[Streamed, ...]:
        """Return what the log does not have, in its order; the caller appends it."""
        taken, self._waiting = self._waiting, []
        return tuple(self._event(*waiting) for waiting in taken)

    def _event(self, kind: type[Streamed], offset: int, text: str) -> Streamed:
        return kind(at=self._held.clocks.wall(), run_id=self._held.run_id, offset=offset, text=text)


def _characters(text: str) -> str:
    """Return the text with halves of characters joined, and a replacement character for a half that stays alone."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
