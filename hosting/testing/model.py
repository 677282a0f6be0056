"""The script of the model, as a test writes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from hosting.testing.case import AppCase, ScriptedAnswer, ScriptedCall


class ScriptedModel:
    """The answers of the model in one test, in the order in which they are written here.

    It answers for every agent of the app, or after `of` for one. Each method returns this object.
    """

    def __init__(self, write: Callable[[ScriptedAnswer], None], agent: str = "") -> None:
        self._write, self._agent, self._seconds = write, agent, 0.0
        self._may_go_on = False

    def says(self, *pieces: str) -> ScriptedModel:
        """Have the next answer be this text; a stream has it in these pieces, and a single one word by word."""
        return self._add(ScriptedAnswer("says", pieces=pieces))

    def calls(self, tool: str, /, **arguments: Any) -> ScriptedModel:
        """Have the next answer be a call of the tool; the answer after that follows its result."""
        return self._add(ScriptedAnswer("calls", calls=(ScriptedCall(tool, arguments),)))

    def also_calls(self, tool: str, /, **arguments: Any) -> ScriptedModel:
        """Have the answer that was written last call this tool, too: a model may ask for several calls at once.

        Raises `ValueError` where no text and no call was written before.
        """
        if not self._may_go_on:
            raise ValueError(f"also_calls({tool!r}) adds to an answer that says or calls something: write that before.")
        return self._add(ScriptedAnswer("calls", calls=(ScriptedCall(tool, arguments),), goes_on=True))

    def fails(self, text: str = "The model is not there.") -> ScriptedModel:
        """Have the next call of the model fail with this error; asked again, it gives the answer after that."""
        return self._add(ScriptedAnswer("fails", pieces=(text,)))

    def is_slow(self, seconds: float) -> ScriptedModel:
        """Have each answer that is written from here on come after so many seconds."""
        self._seconds = seconds
        return self

    def of(self, agent: str) -> ScriptedModel:
        """Return the model of this agent, whose answers no other agent gets."""
        return ScriptedModel(self._write, agent)

    def _add(self, answer: ScriptedAnswer) -> ScriptedModel:
        self._write(replace(answer, agent=self._agent, seconds=self._seconds))
        self._may_go_on = answer.kind != "fails"
        return self


class Script:
    """The answers that a test has written, before and after its app has a case."""

    def __init__(self) -> None:
        self._waiting: list[ScriptedAnswer] = []
        self._case: AppCase | None = None
        self.is_used = False

    def write(self, answer: ScriptedAnswer) -> None:
        """Have one more answer."""
        if self._case is None:
            self._waiting.append(answer)
        else:
            self._case.script.add(answer)

    def begin(self, case: AppCase) -> None:
        """Write into the files of the case from now on."""
        if self.is_used:
            case.script.make()
        for answer in self._waiting:
            case.script.add(answer)
        self._case, self._waiting = case, []
