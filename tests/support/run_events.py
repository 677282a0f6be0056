"""Runs as what follows them: told live, with words that are not logged yet, and as the log has them afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from hosting.core.broadcast import DeltaText, LoggedEvent, Update
from hosting.core.thread.events import (
    Accepted,
    CancelRequested,
    Checkpointed,
    Claimed,
    Completed,
    Delta,
    Event,
    ModelResult,
    Thought,
    ToolResult,
    ToolStarted,
)
from hosting.core.thread.run import Run, common_length, unanswered
from hosting.core.thread.run_request import PendingApproval, RunRequest
from hosting.errors import RunSupersededError
from hosting.names import Address

AT = 1_700_000_000.0
R: dict[str, Any] = {"at": AT, "run_id": "r"}


def accepted(*, streamed: bool = True) -> Accepted:
    """A run is asked for."""
    request = RunRequest(message="hello")
    return Accepted(**R, agent="Joker", thread_id="t", request=request, fingerprint="f", streamed=streamed)


def claimed(attempt: int = 1) -> Claimed:
    return Claimed(**R, attempt=attempt, token="k", holder="caller", lease_seconds=20.0, deadline=AT + 300)


def asks(*calls: str, text: str = "", number: int = 1) -> ModelResult:
    """The model says something and asks for tools."""
    contents: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    contents += [{"type": "function_call", "call_id": call, "name": "look", "arguments": '{"n": 1}'} for call in calls]
    answer = {"messages": [{"role": "assistant", "contents": contents}]}
    return ModelResult(**R, number=number, digest="d", response=answer)


def started(key: str) -> ToolStarted:
    """A tool is called."""
    return ToolStarted(**R, key=key, name="look", digest="d")


def completed(*texts: str, approvals: tuple[PendingApproval, ...] = ()) -> Completed:
    """The agent has answered."""
    messages = [{"role": "assistant", "contents": [{"$type": "text", "text": text}]} for text in texts]
    entry = {"$type": "response", "correlationId": "r", "createdAt": "2023-11-14T22:13:20Z", "messages": messages}
    return Completed(**R, entry=entry, message_count=2, approvals=approvals)


def words(offset: int, text: str) -> DeltaText:
    """Text that was not logged yet."""
    return DeltaText("r", offset, text)


def delta(offset: int, text: str) -> Delta:
    return Delta(**R, offset=offset, text=text)


def thought(offset: int, text: str) -> Thought:
    """A thought that callers may read."""
    return Thought(**R, offset=offset, text=text)


TOOLS = (
    *(accepted(), claimed(), words(0, "One "), words(4, "moment."), delta(0, "One moment."), asks("a", "b")),
    *(started("1.a"), started("1.b"), ToolResult(**R, key="1.b", text="two"), ToolResult(**R, key="1.a", error="no")),
    *(words(11, "\n\nDo"), words(15, "ne."), delta(11, "\n\nDone."), completed("One moment.", "Done.")),
)
LOST = (
    *(accepted(), claimed(), words(0, "One"), delta(0, "One"), words(3, " mom"), claimed(2)),
    *(words(0, "Another"), delta(0, "Another"), completed("Another")),
)
LOST_UNLOGGED = (accepted(), claimed(), words(0, "One"), claimed(2), words(0, "Tw"), words(2, "o"), completed("Two"))
LOST_BEHIND_A_TOOL = (
    *(accepted(), claimed(), words(0, "One."), delta(0, "One."), asks("a"), started("1.a")),
    *(ToolResult(**R, key="1.a", text="x"), words(4, "\n\nTw"), claimed(2), claimed(3)),
    *(words(4, "\n\nThree"), delta(4, "\n\nThree"), completed("One.", "Three")),
)
CALLED_AGAIN = (
    *(accepted(), claimed(), words(0, "One."), delta(0, "One."), asks("a"), started("1.a"), claimed(2), started("1.a")),
    *(ToolResult(**R, key="1.a", text="x"), words(4, "\n\nTwo"), delta(4, "\n\nTwo"), completed("One.", "Two")),
)
CHANGED = (accepted(), claimed(), words(0, "One two"), delta(0, "One two"), delta(4, "three"), completed("One three"))
THOUGHT = (
    *(accepted(), claimed(), thought(0, "Let "), thought(4, "me."), words(0, "See."), delta(0, "See."), asks("a")),
    *(started("1.a"), claimed(2), ToolResult(**R, key="1.a", text="x"), thought(7, "Lost"), claimed(3)),
    *(thought(7, "It "), thought(10, "is."), words(4, "\n\nOn"), delta(4, "\n\nOn"), thought(13, "Go on.")),
    *(words(8, "\n\n"), words(10, "e"), delta(8, "\n\ne"), completed("See.", "On\n\ne")),
)
"""It thinks about its tool's result anew, and about its answer once more in the middle of it."""
SUPERSTEP = Checkpointed(**R, superstep=1, framework="", graph="", checkpoint="", updates=[], values=[])
LOST_WORKFLOW = (
    *(accepted(), claimed(), words(0, "One."), delta(0, "One."), SUPERSTEP),
    *(words(4, "\n\nTw"), delta(4, "\n\nTw"), words(8, "o"), claimed(2)),
    *(words(4, "\n\nThree"), delta(4, "\n\nThree"), completed("One.", "Three")),
)
RUNS = {
    "tools": TOOLS,
    "lost": LOST,
    "unlogged": LOST_UNLOGGED,
    "behind": LOST_BEHIND_A_TOOL,
    "again": CALLED_AGAIN,
    "changed": CHANGED,
    "thought": THOUGHT,
    "workflow": LOST_WORKFLOW,
}

LOST_AND_INTERRUPTED = (
    *(accepted(), claimed(), words(0, "One"), delta(0, "One"), CancelRequested(**R, reason="interrupt"), claimed(2)),
    unanswered("r", AT, RunSupersededError("A later request interrupted the run.")),
)
"""Whoever claims it ends it with its text."""


def any_run(chance: random.Random) -> list[Event | DeltaText]:
    """Return a run whose process is lost up to three times, wherever it is; each attempt goes on from what is recorded.

    What is recorded are a model's answers that ask for a tool, or the supersteps of a workflow. It may
    think before each answer, and in the middle of one.
    """
    run: list[Event | DeltaText] = [accepted()]
    known = ""
    is_workflow, count, answers = chance.random() < 0.3, chance.randrange(1, 4), list[str]()
    for attempt in range(1, 5):
        run.append(claimed(attempt))
        text = logged = "\n\n".join(answers)
        thoughts = known
        left = chance.randrange(1, 12) if attempt < 4 else 100
        while len(answers) < count and left > 0:
            answer = ""
            for piece in chance.choices(("Hm. ", "So."), k=chance.randrange(3)):
                run.append(thought(len(thoughts), piece))
                thoughts += piece
            for piece in chance.choices(("One ", "two", " three.", "ü😀", "\n"), k=chance.randrange(1, 5)):
                addition = f"\n\n{piece}" if text and not answer else piece
                run.append(words(len(text), addition))
                answer, text, left = answer + piece, text + addition, left - 1
                if chance.random() < 0.4:
                    run.append(delta(len(logged), text[len(logged) :]))
                    logged = text
                if chance.random() < 0.2:
                    run += [delta(len(logged), text[len(logged) :])] if logged != text else []
                    run.append(thought(len(thoughts), piece))
                    logged, thoughts = text, thoughts + piece
                if left == 0:
                    break
            else:
                known = thoughts
                run += [delta(len(logged), text[len(logged) :])] if logged != text else []
                answers, logged = [*answers, answer], text
                key = f"{len(answers)}.a"
                called = [asks("a", number=len(answers)), started(key), ToolResult(**R, key=key, text="x")]
                run += [SUPERSTEP] if is_workflow else called
        if left > 0:
            break
    if chance.random() < 0.3:
        answers[-1] = f"{answers[-1][:1]}{chance.choice(('', ' changed'))}"
        changed = "\n\n".join(answers)
        same = common_length(text, changed)
        run += [words(same, changed[same:]), delta(same, changed[same:])]
    return [*run, completed(*answers)]


def followed(run: Iterable[Event | DeltaText]) -> list[Update]:
    """Return what a follower gets in the process of the run: not again, from the log, the text that it has."""
    text, found = "", list[Update]()
    for update in updates(run):
        output = update.event if isinstance(update, LoggedEvent) else update
        if isinstance(output, Delta) and text[output.offset :] == output.text:
            continue
        if isinstance(output, Delta | DeltaText):
            text = text[: output.offset] + output.text
        found.append(update)
    return found


def run_of(given: Iterable[Update]) -> Run:
    """Return the run as its first event has it."""
    first = next(iter(given))
    assert isinstance(first, LoggedEvent)
    assert isinstance(first.event, Accepted)
    return Run(Address.of("Joker", "t"), first.event, first.position, first.position)


def updates(run: Iterable[Event | DeltaText]) -> list[Update]:
    """Return what a follower gets, each event at its position."""
    position, found = 0, list[Update]()
    for one in run:
        if not isinstance(one, DeltaText):
            position += 1
        found.append(one if isinstance(one, DeltaText) else LoggedEvent(position, one))
    return found


def logged(given: Iterable[Update]) -> list[Update]:
    """Return what a reader gets who comes afterwards."""
    return [update for update in given if isinstance(update, LoggedEvent)]
