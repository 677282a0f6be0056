"""The four turns that each agent of the table is asked, and what its model answers in each."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.fidelity.features import FILE, PICTURE, Row
from tests.fidelity.script import Answer, Call, Finish

Ending = Literal["answered", "failed", "cancelled"]


@dataclass(frozen=True)
class Turn:
    """One message with its contents, the model's answers, and how it ends; a cancelled one never gets an answer."""

    message: str
    script: tuple[Answer, ...]
    ending: Ending = "answered"
    contents: tuple[tuple[str, bytes], ...] = ()

    def uris(self) -> list[dict[str, str]]:
        """Return the contents as the HTTP API takes them."""
        return [
            {"$type": "data", "uri": f"data:{media_type};base64,{base64.b64encode(data).decode()}"}
            for media_type, data in self.contents
        ]


@dataclass(frozen=True)
class Told:
    """What a caller was told of a turn: how it ended, the text, and the tools that ask for a person."""

    ending: str
    text: str = ""
    asked: tuple[str, ...] = ()


def turns_of(row: Row) -> Sequence[Turn]:
    """Return the turns of a row: with tools, as the row ends the second one, with tools again, and plain words."""
    contents = {"picture": (("image/png", PICTURE),), "file": (("application/pdf", FILE),)}.get(row["content"], ())
    ending: Any = row["second turn"]
    second = (Answer(status=500),) * 4 if ending == "failed" else (_last(row, "two"),)
    return (
        Turn("First.", _script(row, "one"), contents=contents),
        Turn("Second.", second, ending=ending),
        Turn("Third.", _script(row, "three")),
        Turn("Fourth.", (_last(row, "four"), _last(row, "more"))),
    )


def _script(row: Row, text: str) -> tuple[Answer, ...]:
    last = (_last(row, text), _last(row, f"{text}, again"), _last(row, f"{text}, once more"))
    look, add = Call("look", {"key": text}), Call("add", {"amount": len(text)})
    match row["tools"]:
        case "one" | "mcp":
            return (_calling(row, look), *last)
        case "session":
            keep = [_calling(row, Call("keep", {"word": f"{text} {number}"})) for number in range(2)]
            return (*keep, _calling(row, look), *last)
        case "no ids":
            return (_calling(row, Call("look", {"key": text}, id="")), *last)
        case "parallel":
            return (_calling(row, look, add), *last)
        case "rounds":
            return (_calling(row, look), _calling(row, add), *last)
        case "declared":
            return (_calling(row, Call("where", {"why": "the weather"})), *last)
        case "hosted":
            return (Answer(last[0].text, hosted=("web_search",), thinking=last[0].thinking), *last[1:])
        case "agent":
            inner = _calling(row, look)
            return (_calling(row, Call("inner", {"task": text})), inner, *last)
        case _:
            return last


def _calling(row: Row, *calls: Call) -> Answer:
    return Answer(calls=calls, thinking="Let me look." if row["content"] == "thinking" else "")


def _last(row: Row, text: str) -> Answer:
    finish: Finish = "stop" if row["finish"] == "cut" else row["finish"]  # type: ignore[assignment]
    shown = json.dumps({"answer": text}) if row["format"] == "schema" else f"Here is {text}."
    thinking = "That is all." if row["content"] == "thinking" else ""
    return Answer(shown, thinking=thinking, finish=finish, is_cut=row["finish"] == "cut")
