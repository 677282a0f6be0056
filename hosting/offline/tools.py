"""Which of the offered tools the words of a message mean, and the arguments to call it with: the offline model's guess.

A tool is one of agent-framework: it has a name, a description, and the JSON schema of its parameters.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from hosting.offline.values import Filling, value_of

WEATHER_TOOL = "get_weather"
PLACEHOLDER = "..."
COMMON = """
    about all and any are can could did does for from get give has have how into its may more not one please should
    some that the then there this use was what when where which who will with would you your
"""
WORD = re.compile(rf"\b(?!(?:{'|'.join(COMMON.split())})\b)[a-z]{{3,}}")
NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
_NUMBERS = ("integer", "number")
NAME = re.compile(r'"([^"]+)"|(?<=[^.?!] )(?!I\b)([A-Z][\w-]*)|(?<![\w-])((?:[^\W\d]|-)*\d[\w-]*)')


class Guess(Struct, frozen=True):
    """A call that a message may mean; `is_sure` where its words fit this tool best and have each value it needs."""

    tool: str
    arguments: Mapping[str, Any]
    is_sure: bool


def guess_call(text: str, tools: Iterable[Any]) -> Guess | None:
    """The tool that shares most words of its name and description with `text`; else the first beside the weather's."""
    offered = sorted(tools, key=lambda tool: tool.name == WEATHER_TOOL)
    if not offered:
        return None
    words = _words_of(text)
    shared = [_shared_words(words, _tool_words(tool)) for tool in offered]
    most = max(shared)
    tool = offered[shared.index(most)]
    examples = _example_arguments(tool, text)
    is_sure = most > 0 and shared.count(most) == 1 and all(example.is_from_text for example in examples.values())
    return Guess(tool.name, {name: example.value for name, example in examples.items()}, is_sure)


def _words_of(text: str) -> set[str]:
    """The words that say something; a tool's name is words with lines between them."""
    return set(WORD.findall(text.lower().replace("_", " ")))


def _tool_words(tool: Any) -> set[str]:
    return _words_of(f"{tool.name} {tool.description}")


def _shared_words(words: set[str], vocabulary: set[str]) -> int:
    """The number of shared words, ignoring endings: "orders" and "order"."""
    return sum(any(word.startswith(term) or term.startswith(word) for term in vocabulary) for word in words)


class _Example(Struct, frozen=True):
    """A value for an argument. `is_from_text` where the message has it; a tool gets no other without being asked to."""

    value: Any
    is_from_text: bool


def _example_arguments(tool: Any, text: str) -> dict[str, _Example]:
    """One for each argument that the tool needs: numbers and names of `text` in their order, as far as they go.

    A word of the tool's own description is no name: the order in "my Order A-17" is not the one to look up.
    """
    schema: Mapping[str, Any] = tool.parameters()
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    exclusions = _tool_words(tool)
    numbers = NUMBER.findall(text)
    if any(properties.get(name, {}).get("type") in _NUMBERS for name in required):
        exclusions = exclusions.union(numbers)  # a value fills one argument
    names = (name for parts in NAME.findall(text) if (name := "".join(parts)).lower() not in exclusions)
    values = iter(numbers)
    return {name: _example(properties.get(name, {}), values, names, Filling(text, schema)) for name in required}


def _example(schema: Mapping[str, Any], numbers: Iterator[str], names: Iterator[str], filling: Filling) -> _Example:
    kind = schema.get("type")
    if "enum" in schema or kind not in (*_NUMBERS, "string"):
        value = value_of(schema, filling)
        return _Example(value, is_from_text="enum" in schema and str(value).lower() in filling.words.lower())
    if kind == "string":
        name = next(names, None)
        return _Example(PLACEHOLDER if name is None else name, is_from_text=name is not None)
    number = next(numbers, None)
    value = float(number or 0)
    is_whole = value.is_integer()
    is_from_text = number is not None and (is_whole or kind == "number")
    return _Example(int(value) if kind == "integer" or is_whole else value, is_from_text)
