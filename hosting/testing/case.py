"""The files of one test, by which its process and the app's speak: the script of the model, the kill, what was done.

Theory. The app's process is killed between any two lines, so nothing of a test may be in its memory alone. Each fact is
one line at the end of a file, written whole before the app goes on, and a later process reads all lines again. One
process of the app runs at a time. A folder has the cases of one app, and the last line of its file `case` names the
present one. Files only grow: so a process may read one while another writes, on Windows too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")
Side = Literal["before", "after"]
Kind = Literal["says", "calls", "fails"]
CLOCK_FILE = "clock.jsonl"
"""By how many seconds the time of the app is ahead, in its folder of cases."""
_SUBJECTS = {
    "accepted": "the request",
    "tool_started": "the call of {!r}",
    "tool_result": "the result of {!r}",
    "model_result": "the model's answer",
    "checkpointed": "a superstep of the workflow",
    "approval_answered": "the decision",
    "completed": "the end of the run",
    "failed": "the failure of the run",
    "timed_out": "the time-out of the run",
    "cancelled": "the cancellation of the run",
}
WORDS = ("killed", "before", "after", *_SUBJECTS.values())
"""The words of moments, but for the names of tools."""
KINDS = tuple(_SUBJECTS)
"""The events of a log that are steps of a test. Others come when they come: text of a stream, a lease, an archive."""


class RecordedStep(Struct, frozen=True):
    """One record of the app's log: an event of that kind, of a tool if it is about a call. `nth` counts from 1."""

    kind: str
    tool: str = ""
    nth: int = 1

    @property
    def record(self) -> str:
        """What is recorded, in words: `the result of 'refund'`, and `(2)` behind it for the second of the test."""
        subject = _SUBJECTS[self.kind].format(self.tool)
        return f"{subject} ({self.nth})" if self.nth > 1 else subject


class Kill(Struct, frozen=True):
    """The moment at which the app's process is killed."""

    side: Side
    step: RecordedStep

    @property
    def moment(self) -> str:
        """The moment in words: `before the result of 'refund' was recorded`."""
        return f"{self.side} {self.step.record} was recorded"


class ScriptedCall(Struct, frozen=True):
    """The call of a tool that an answer of the model asks for."""

    tool: str
    arguments: Mapping[str, Any]


class ScriptedAnswer(Struct, frozen=True):
    """An answer of the model, for any agent or for one, after some seconds: a text and calls of tools, or an error.

    The text comes in `pieces`. One that `goes_on` is no answer of its own: it adds its calls to the one before it.
    """

    kind: Kind
    agent: str = ""
    pieces: Sequence[str] = ()
    calls: Sequence[ScriptedCall] = ()
    seconds: float = 0.0
    goes_on: bool = False

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)


class AnswerGiven(Struct, frozen=True):
    """The model was asked this (a digest) and was given the answer at that place of the script.

    `is_over`: the question got all that it can get of that answer, an error, and gets the next one when asked again.
    Without a place there was none left for the agent.
    """

    question: str
    agent: str
    place: int | None
    is_over: bool = False


class CallMade(Struct, frozen=True):
    """A tool was called, with these arguments as JSON text. `call` is the same if the call is made again."""

    tool: str
    arguments: str
    call: str
    is_idempotent: bool


class AppCase:
    """The files of one test."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.script = Lines(folder / "script.jsonl", ScriptedAnswer)
        self.answers = Lines(folder / "answers.jsonl", AnswerGiven)
        self.calls = Lines(folder / "calls.jsonl", CallMade)
        self.steps = Lines(folder / "steps.jsonl", RecordedStep)
        self.kills = Lines(folder / "kills.jsonl", Kill)
        self.killed = Lines(folder / "killed.jsonl", Kill)
        """The kills that the test wants, and those that came."""

    @property
    def waiting_kill(self) -> Kill | None:
        """The kill that has not come yet."""
        done = self.killed.read()
        return next((kill for kill in self.kills.read() if kill not in done), None)


class Cases:
    """The cases of the app that runs in this process, as far as there is one; a test of the app makes them."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    @property
    def present(self) -> AppCase | None:
        """The case of the test that uses the app now."""
        names = [] if self.folder is None else Lines(self.folder / "case", str).read()
        return AppCase(self.folder / names[-1]) if self.folder is not None and names else None


def begin_case(folder: Path, name: str) -> AppCase:
    """Make a case the present one, for the app as well."""
    case = AppCase(folder / name)
    Lines(folder / "case", str).add(name)
    return case


class Lines(Generic[T]):
    """A file of values of one type, each a line of JSON. It need not be there."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        self._path, self._kind = path, kind

    @property
    def is_there(self) -> bool:
        """Whether the file is there, be it empty."""
        return self._path.is_file()

    def make(self) -> None:
        """Have the file there."""
        self._path.touch()

    def add(self, value: T) -> None:
        """Write one more; it is there for every process when this returns."""
        with self._path.open("ab", buffering=0) as file:
            file.write(msgspec.json.encode(value) + b"\n")

    def read(self) -> list[T]:
        """Return all values, in the order in which they were written."""
        if not self.is_there:
            return []
        lines = self._path.read_bytes().split(b"\n")[:-1]
        return [msgspec.json.decode(line, type=self._kind) for line in lines]
