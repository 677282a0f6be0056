"""A run's events and deltas as items: the text that stands, in messages, whatever was sent twice or is void."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from hosting.core.broadcast import Update
from hosting.core.thread.events import Completed
from hosting.core.transcript import AgentMessage, CalledTool, TextAdded, TextVoided, Transcript
from tests.support.run_events import RUNS, TOOLS, any_run, followed, logged, run_of, updates
from tests.support.seeds import repeated

pytestmark = pytest.mark.behaviour("service.transcript")


def messages_of(given: Iterable[Update]) -> list[tuple[int, str]]:
    told = list(given)
    transcript, standing = Transcript(run_of(told)), dict[AgentMessage, str]()
    for update in told:
        for item in transcript.next(update):
            match item:
                case TextAdded(message, text):
                    standing[message] = standing.get(message, "") + text
                case TextVoided(messages):
                    for message in messages:
                        del standing[message]
        assert not any(message.is_void for message in standing)
        assert standing == {message: message.text for message in standing}
        gaps = transcript.text
        for message in sorted(standing, key=lambda one: -one.start):
            assert gaps[message.start :].removeprefix(message.text).strip("\n") == ""
            gaps = gaps[: message.start]
        assert gaps.strip("\n") == ""
    return [(message.start, message.text) for message in standing]


@pytest.mark.parametrize("name", RUNS)
def test_who_follows_a_run_and_who_reads_its_log_have_the_same_messages(name: str) -> None:
    given = updates(RUNS[name])

    assert messages_of(given) == messages_of(followed(RUNS[name])) == messages_of(logged(given))


def test_wherever_the_process_of_a_run_is_lost_its_messages_are_the_same(seed: int) -> None:
    """Those of an attempt that began again, and of an answer that was changed, too."""
    for number in range(repeated(200, 5000)):
        run = any_run(random.Random(f"{seed}-{number}"))
        assert messages_of(followed(run)) == messages_of(logged(updates(run))), number


def test_a_message_ends_where_the_agent_calls_a_tool_and_where_the_run_ends() -> None:
    """The call has the arguments that the model sent, and then its outcome."""
    transcript, told = Transcript(run_of(updates(TOOLS))), list[object]()
    for update in logged(updates(TOOLS)):
        for item in transcript.next(update):
            if isinstance(item, CalledTool):
                told.append((item.key, item.arguments, dict(item.outcome)))
            elif isinstance(item, TextAdded):
                told.append(item.text)
            elif isinstance(item, AgentMessage | Completed):
                told.append(type(item))

    assert told == [
        *("One moment.", AgentMessage, ("1.a", {"n": 1}, {}), ("1.b", {"n": 1}, {})),
        *(("1.b", {"n": 1}, {"result": "two"}), ("1.a", {"n": 1}, {"error": "The tool failed."})),
        *("Done.", AgentMessage, Completed),
    ]
