"""Which of the offered tools somebody may mean, and the arguments to try it with: guesses of the offline model.

A tool is one of agent-framework: it has a name, a description, and the JSON schema of its parameters.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agents.offline_values import Filling, value_of

WEATHER_TOOL = "get_weather"
PLACEHOLDER = "..."
WORD = re.compile(
    r"\b(?!(?:and|are|can|for|get|how|its|that|the|this|was|what|when|where|which|who|with|you)\b)[a-z]{3,}"
)
NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
NAMED = re.compile(r'"([^"]+)"|(?<=[^.?!] )([A-Z][\w-]*)|\b([\w-]*\d[\w-]*)')


def nearest_tool(text: str, tools: Iterable[Any]) -> Any | None:
    """The tool whose name and description share most words with `text`; for none, the first beside the weather's."""
    offered = sorted(tools, key=lambda tool: tool.name == WEATHER_TOOL)
    given = words_of(text)
    return max(offered, key=lambda tool: shared_words(given, words_of(f"{tool.name} {tool.description}")), default=None)


def words_of(text: str) -> set[str]:
    """The words that say something; a tool's name is words with lines between them."""
    return set(WORD.findall(text.lower().replace("_", " ")))


def shared_words(given: set[str], known: set[str]) -> int:
    """How many words have one that is alike, whatever its ending: "orders" and "order"."""
    return sum(any(word.startswith(other) or other.startswith(word) for other in known) for word in given)


def example_arguments(tool: Any, text: str) -> dict[str, Any]:
    """A value for each argument that the tool needs: numbers and names of `text` in their order, as far as they go."""
    schema: Mapping[str, Any] = tool.parameters()
    named = schema.get("properties", {})
    numbers = iter(NUMBER.findall(text))
    texts = ("".join(found) for found in NAMED.findall(text))
    return {
        name: example(named.get(name, {}), numbers, texts, Filling(text, schema)) for name in schema.get("required", ())
    }


def example(schema: Mapping[str, Any], numbers: Iterator[str], texts: Iterator[str], filling: Filling) -> Any:
    kind = schema.get("type")
    if "enum" in schema or kind not in ("integer", "number", "string"):
        return value_of(schema, filling)
    if kind == "string":
        return next(texts, PLACEHOLDER)
    given = float(next(numbers, 0))
    return int(given) if kind == "integer" or given.is_integer() else given
