"""Names and paths with parameters: `{name}` in a blob trigger takes a part of a path, elsewhere it is filled in."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from azure.functions.meta import Datum

_PARAMETER = re.compile(r"\{([^{}]+)\}")
TriggerData = Mapping[str, Datum]
"""What a trigger says of a message, by names whose case does not count."""


class PathError(Exception):
    """A path cannot be filled in; the message is a sentence."""


def text_of(datum: Datum) -> str:
    """Return a member of the trigger's data as it stands in a path."""
    return datum.value if isinstance(datum.value, str) else str(datum.value)


def fill(template: str, members: TriggerData, now: datetime) -> str:
    """Return the name or path with its parameters filled in; raise `PathError` by the first that has no value."""
    by_name = {name.lower(): datum for name, datum in members.items()}

    def value(match: re.Match[str]) -> str:
        name = match[1]
        first, *inner = name.split(".")
        datum = by_name.get(name.lower()) or by_name.get(first.lower())
        if name.lower() == "rand-guid":
            return str(uuid.uuid4())
        if name == "DateTime":
            return now.strftime("%Y-%m-%dT%H-%M-%SZ")
        text = None if datum is None else text_of(datum) if name.lower() in by_name else _inner(text_of(datum), inner)
        if text is None:
            raise PathError(f"'{template}' needs a value for '{{{name}}}', but the trigger has none of that name.")
        return text

    return _PARAMETER.sub(value, template)


def _inner(text: str, names: list[str]) -> str | None:
    """Return a member within an object of the data, `{order.id}`, None when there is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True)
class BlobPattern:
    """The path of a blob trigger. The first parameter takes the most: `{dir}/{file}` parts at the last `/`."""

    container: str
    prefix: str
    names: tuple[str, ...]
    pattern: re.Pattern[str]

    def match(self, blob: str) -> Mapping[str, str] | None:
        """Return the parameters' values in a blob's name, None when the path does not fit."""
        match = self.pattern.fullmatch(blob)
        return dict(zip(self.names, match.groups(), strict=True)) if match else None


def parse_pattern(path: str) -> BlobPattern:
    """Return the pattern of a path."""
    container, _, blob = path.partition("/")
    parts = _PARAMETER.split(blob or "{name}")
    names = tuple(parts[1::2]) if blob else ()
    texts = [re.escape(part) for part in parts[0::2]]
    return BlobPattern(container, parts[0], names, re.compile(("(.+)" if blob else ".+").join(texts), re.DOTALL))
