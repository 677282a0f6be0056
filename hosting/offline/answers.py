"""The offline model's answers: a pure function of the conversation and the offered tools.

It needs no network and is no model: patterns decide. What it shows is real all the same: it asks for tools instead of
knowing the weather, and it remembers nothing itself, so an answer about earlier turns proves that they were kept.
Earlier messages are read only when the newest one asks about them.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from agent_framework import Content, Message
from msgspec import Struct

from hosting.offline.tools import WEATHER_TOOL, guess_call


class Say(Struct, frozen=True):
    """The answer, in words."""

    text: str


class CallTool(Struct, frozen=True):
    """A tool is to be called once with each of these arguments, in this order."""

    tool: str
    arguments: tuple[Mapping[str, Any], ...]


class OfflineTurn(Struct, frozen=True):
    """The input of an answer: the conversation with its newest message last, and the offered tools by name."""

    messages: Sequence[Message]
    tools: Mapping[str, Any]


Answer: TypeAlias = Say | CallTool
Rule: TypeAlias = tuple[re.Pattern[str], Callable[[re.Match[str], OfflineTurn], Answer]]


def answer(turn: OfflineTurn) -> Answer:
    """The first rule that fits the newest message decides; the results of tools are repeated as they are."""
    if turn.messages and turn.messages[-1].role == "tool":
        return Say(_results_in_words(turn))
    text = _read(turn.messages[-1]) if turn.messages else ""
    for pattern, decide in RULES:
        if match := pattern.search(text):
            return decide(match, turn)
    return _guess(text, turn)


def _guess(text: str, turn: OfflineTurn) -> Answer:
    """The call that the message asks for, else a self-description; for a likely tool, with its message."""
    call = guess_call(text, turn.tools.values())
    introduction = INTRODUCTION.format(
        weather='ask me "What is the weather in Paris?", ' * (WEATHER_TOOL in turn.tools)
    )
    quoted = f'You said: "{_shortened(text)}". ' if text else ""
    if call is None or call.tool == WEATHER_TOOL:
        return Say(quoted + introduction)
    if call.is_sure:
        return CallTool(call.tool, (call.arguments,))
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    proposal = f"To have the tool {call.tool} called, send me this:\n\nCall {call.tool} with {arguments}\n\n"
    return Say(quoted + proposal + introduction)


def _results_in_words(turn: OfflineTurn) -> str:
    """One sentence for each result of the tool messages that end the conversation."""
    calls: dict[str | None, Content] = {}
    results: list[Content] = []
    for message in reversed(turn.messages):
        if message.role != "tool":
            calls = {content.call_id: content for content in message.contents if content.type == "function_call"}
            break
        results[:0] = [content for content in message.contents if content.type == "function_result"]
    question = next(filter(None, _earlier_texts(turn)), None)
    is_guess = question is not None and CALL.search(question) is None
    return " ".join(_result_in_words(calls.get(result.call_id), result, is_guess) for result in results)


def _result_in_words(call: Content | None, result: Content, is_guess: bool) -> str:
    """The result with its subject; if rules chose the tool, with that too."""
    if call is not None and call.name == WEATHER_TOOL:
        city = (call.parse_arguments() or {}).get("city")
        if city and result.exception is None:
            return f"The weather in {city}: {result.result}."
        is_guess = False
    if result.exception is not None:
        outcome = f"The tool failed: {result.result}"
    else:
        outcome = f"It says: {result.result}" if is_guess else f"The tool says: {result.result}"
    return f"I answer by rules, and your words fit the tool {call.name}. {outcome}" if call and is_guess else outcome


def _ask_weather(match: re.Match[str], turn: OfflineTurn) -> Answer:
    if turn.tools and WEATHER_TOOL not in turn.tools:
        return _guess(match.string, turn)
    return _call(WEATHER_TOOL, tuple({"city": city} for city in _cities_in(match)), turn)


def _call_by_name(match: re.Match[str], turn: OfflineTurn) -> Answer:
    try:
        arguments = json.loads(match["arguments"])
    except (ValueError, RecursionError):
        return Say("These arguments are not a JSON object.")
    return _call(match["tool"], (arguments,), turn)


def _call(tool: str, arguments: tuple[Mapping[str, Any], ...], turn: OfflineTurn) -> Answer:
    if tool not in turn.tools:
        return Say(f"I would ask the tool {tool}, but it is not offered to me in this turn.")
    return CallTool(tool, arguments)


def _ask_for_city(match: re.Match[str], turn: OfflineTurn) -> Answer:
    return Say('For which city? Ask, for example: "What is the weather in Paris?"')


def _greet(match: re.Match[str], turn: OfflineTurn) -> Answer:
    return Say(f"Nice to meet you, {match['name']}. Ask me for your name at any time.")


def _recall_name(match: re.Match[str], turn: OfflineTurn) -> Answer:
    introduction = next(filter(None, map(NAME.search, _earlier_texts(turn))), None)
    if introduction is None:
        return Say("You have not told me your name in this conversation.")
    return Say(f"Your name is {introduction['name']}.")


def _recall_city(match: re.Match[str], turn: OfflineTurn) -> Answer:
    question = next(filter(None, map(_weather_question, _earlier_texts(turn))), None)
    if question is None:
        return Say("You have not asked about a city in this conversation.")
    return Say(f"You asked about {' and '.join(_cities_in(question))}.")


def _recall_question(match: re.Match[str], turn: OfflineTurn) -> Answer:
    previous = next(_earlier_texts(turn), None)
    if previous is None:
        return Say("You have not asked anything before in this conversation.")
    return Say(f'Before that, you said: "{_shortened(previous)}".')


def _write_about(match: re.Match[str], turn: OfflineTurn) -> Answer:
    subject = match["subject"].strip()
    return Say(f"{subject[0].upper()}{subject[1:]}: worth knowing, and worth telling others.")


def _shorten(match: re.Match[str], turn: OfflineTurn) -> Answer:
    return Say(match["text"].partition(",")[0].rstrip(" .") + ".")


def _earlier_texts(turn: OfflineTurn) -> Iterator[str]:
    """The user's messages before the newest, latest first."""
    return (_read(message) for message in reversed(turn.messages[:-1]) if message.role == "user")


def _read(message: Message) -> str:
    """As much of the message as the rules look at: patterns take long over a text of a megabyte."""
    return message.text.strip()[:CHARACTERS_READ]


def _weather_question(text: str) -> re.Match[str] | None:
    return WEATHER.search(text) or FOLLOW_UP.search(text)


def _cities_in(match: re.Match[str]) -> tuple[str, ...]:
    names = TIME_WORDS.sub("", " ".join(match["cities"].split())).strip(" ,.")
    return tuple(city for city in SEPARATORS.split(names) if city) or (match["cities"].strip(),)


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else text[:199] + "…"


CHARACTERS_READ = 2000
INTRODUCTION = (
    "I am the offline model: I answer by rules. For example, {weather}tell me your name and ask for it later, or ask "
    "what you asked before. docs/guides/models.md says how to connect a real model."
)
SEPARATORS = re.compile(r"\s*,\s*(?:and\s+)?|\s+(?:and|or)\s+", re.IGNORECASE)
TIME_WORDS = re.compile(r"[\s,](?:today|tonight|tomorrow|now|right now|this week|please)\b.*$", re.IGNORECASE)
NAME = re.compile(r"\b(?:my name is|i am called|call me)\s+(?P<name>\w[\w'-]*)", re.IGNORECASE)
WEATHER = re.compile(
    r"\b(?:weather|forecast|temperature|rain\w*|snow\w*|sunny|warm|cold|hot)\b[^?!\n]*?\b(?:in|for|at)\s+"
    r"(?P<cities>[^\s?!;][^?!;\n]*)",
    re.IGNORECASE,
)
FOLLOW_UP = re.compile(r"^(?:and|what about|how about)\s+(?:in\s+)?(?P<cities>[^\s?!;][^?!;\n]*)\?", re.IGNORECASE)
WRITE = re.compile(
    r"^(?:please\s+)?(?:write|draft)\b[^:\n]*?\b(?:about|for)\s+(?P<subject>[^\s.!?][^.!?\n]*)", re.IGNORECASE
)
SHORTEN = re.compile(r"^(?:please\s+)?shorten\b[^:\n]*:\s*(?P<text>\S.*)", re.IGNORECASE)
CALL = re.compile(r"^call (?P<tool>\w+) with (?P<arguments>\{.*\})\s*$", re.IGNORECASE | re.DOTALL)
MY_NAME = re.compile(r"\bwhat(?:'s| is| was) my name\b|\bwho am i\b", re.IGNORECASE)
WHICH_CITY = re.compile(r"\b(?:which|what) (?:city|place)\b.*\bask", re.IGNORECASE)
WHAT_I_ASKED = re.compile(r"\bwhat (?:did|have) i (?:just )?(?:ask|say|said)", re.IGNORECASE)
NO_CITY = re.compile(r"\b(?:weather|forecast|temperature)\b", re.IGNORECASE)
RULES: tuple[Rule, ...] = (
    (CALL, _call_by_name),
    (SHORTEN, _shorten),
    (MY_NAME, _recall_name),
    (WHICH_CITY, _recall_city),
    (WHAT_I_ASKED, _recall_question),
    (NAME, _greet),
    (WEATHER, _ask_weather),
    (NO_CITY, _ask_for_city),
    (FOLLOW_UP, _ask_weather),
    (WRITE, _write_about),
)
