"""Route templates as ASP.NET Core reads them, compiled to regular expressions.

A template is cut into tokens, literal texts and parameters, and these into segments at the slashes of the literals. A
whole segment that is optional, has a default or is a catch-all may be absent with its slash. An optional parameter at
the end of a mixed segment (`{a}.{ext?}`) may be absent with the dot before it, so such a template has two expressions:
the longer one is tried first, as ASP.NET does. The inline constraints, `{id:int:min(1)}`, are asked once an expression
matched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from devhost.errors import RouteError

Constraint = Callable[[str], bool]
_INTEGER = re.compile(r"\s*[+-]?0*\d{1,19}\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(\d[\d,]*\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
_DECIMAL = re.compile(r"\s*[+-]?(\d[\d,]*\.?\d*|\.\d+)\s*", re.ASCII)
_GUID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ALPHA = re.compile(r"[a-z]*", re.IGNORECASE | re.ASCII)
_DATE_FORMATS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S", "%m/%d/%Y")
_PARAMETER = re.compile(
    r"(?P<stars>\*{0,2})(?P<name>[^:=?*]+)(?P<constraints>:.*?)?(?P<default>=.*?)?(?P<optional>\?)?"
)


@dataclass(frozen=True)
class Parameter:
    """One `{...}` of a template."""

    name: str
    constraints: tuple[Constraint, ...]
    default: str | None
    is_optional: bool
    is_catch_all: bool


Token = str | Parameter


@dataclass(frozen=True)
class Template:
    """A compiled template; the expressions are tried in order on the decoded path without slashes at its ends.

    A slash at the path's end means nothing, but to a catch-all, whose value keeps it.
    """

    expressions: tuple[re.Pattern[str], ...]
    parameters: tuple[Parameter, ...]

    def match(self, path: str) -> Mapping[str, str] | None:
        """Return the parameters' values, absent optional ones left out, or None when the path does not match."""
        for expression in self.expressions:
            found = expression.fullmatch(path.rstrip("/"))
            if found:
                return self._values(found, path[found.end() :])
        return None

    def _values(self, found: re.Match[str], end: str) -> Mapping[str, str] | None:
        values: dict[str, str] = {}
        groups = found.groupdict()
        for position, parameter in enumerate(self.parameters):
            value = groups.get(f"p{position}")
            value = value + end if value and parameter.is_catch_all else value or parameter.default
            if value is None:
                continue
            if not all(accepts(value) for accepts in parameter.constraints):
                return None
            values[parameter.name] = value
        return values


def compile_template(text: str) -> Template:
    """Return the compiled template; raise `RouteError` when ASP.NET would refuse it."""
    tokens = _tokens(text)
    parameters = tuple(token for token in tokens if isinstance(token, Parameter))
    names = [parameter.name.lower() for parameter in parameters]
    if len(set(names)) < len(names):
        raise RouteError(f"the route '{text}' uses a parameter name twice.")
    if any(parameter.is_catch_all for parameter in parameters[:-1]):
        raise RouteError(f"the route '{text}' has something after its catch-all parameter.")
    segments = _segments(tokens)
    variants = [segments]
    if len(segments[-1]) > 2 and isinstance(last := segments[-1][-1], Parameter) and last.is_optional:
        variants.append([*segments[:-1], [*segments[-1][:-2], str(segments[-1][-2]).removesuffix(".")]])
    return Template(tuple(_expression(variant) for variant in variants), parameters)


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    literal = ""
    position = 0
    while position < len(text):
        if text[position : position + 2] in ("{{", "}}"):
            literal += text[position]
            position += 2
        elif text[position] == "{":
            end = _closing_brace(text, position)
            tokens += [literal, _parameter(text, text[position + 1 : end])]
            literal = ""
            position = end + 1
        else:
            literal += text[position]
            position += 1
    return [*tokens, literal]


def _closing_brace(text: str, start: int) -> int:
    position = start + 1
    while position < len(text):
        if text[position : position + 2] in ("{{", "}}"):
            position += 2
        elif text[position] == "}":
            return position
        else:
            position += 1
    raise RouteError(f"the route '{text}' has an opening brace without its closing one.")


def _parameter(template: str, text: str) -> Parameter:
    unescaped = text.replace("{{", "{").replace("}}", "}")
    found = _PARAMETER.fullmatch(unescaped)
    if not found:
        raise RouteError(f"the route '{template}' has the unreadable parameter '{{{text}}}'.")
    default = found["default"]
    return Parameter(
        name=found["name"],
        constraints=tuple(_constraint(part) for part in _split_constraints(found["constraints"] or "")),
        default=default[1:] if default else None,
        is_optional=bool(found["optional"]),
        is_catch_all=bool(found["stars"]),
    )


def _split_constraints(text: str) -> list[str]:
    """Split at the colons that stand outside parentheses."""
    parts: list[str] = []
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == ":" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _segments(tokens: list[Token]) -> list[list[Token]]:
    segments: list[list[Token]] = [[]]
    for token in tokens:
        if isinstance(token, Parameter):
            segments[-1].append(token)
            continue
        first, *others = token.split("/")
        if first:
            segments[-1].append(first)
        segments += [[other] if other else [] for other in others]
    return [segment for segment in segments if segment] or [[""]]


def _expression(segments: list[list[Token]]) -> re.Pattern[str]:
    pattern = ""
    position = 0
    for number, segment in enumerate(segments):
        slash = "/" if number else ""
        inner = ""
        for token in segment:
            if isinstance(token, Parameter):
                inner += f"(?P<p{position}>{'.*' if token.is_catch_all else '[^/]+'})"
                position += 1
            else:
                inner += re.escape(token)
        pattern += f"(?:{slash}{inner})?" if _may_be_absent(segment) else slash + inner
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def _may_be_absent(segment: list[Token]) -> bool:
    only = segment[0]
    if len(segment) > 1 or not isinstance(only, Parameter):
        return False
    return only.is_optional or only.is_catch_all or only.default is not None


def _constraint(text: str) -> Constraint:
    """Return the check for one constraint as written, `min(3)`; raise `RouteError` for one that ASP.NET lacks."""
    name, _, rest = text.partition("(")
    if rest and not rest.endswith(")"):
        raise RouteError(f"the constraint '{text}' has no closing parenthesis.")
    make = _CONSTRAINTS.get(name.lower())
    if make is None:
        raise RouteError(f"the constraint '{text}' is unknown. Use one of {', '.join(sorted(_CONSTRAINTS))}.")
    try:
        return make(rest[:-1])
    except (ValueError, re.error) as error:
        raise RouteError(f"the constraint '{text}' has unusable arguments: {error}.") from error


def _integer(bits: int) -> Constraint:
    return lambda value: bool(_INTEGER.fullmatch(value)) and -(1 << (bits - 1)) <= int(value) < 1 << (bits - 1)


def _between(low: int | None, high: int | None) -> Constraint:
    is_long = _integer(64)
    return lambda value: is_long(value) and (low is None or int(value) >= low) and (high is None or int(value) <= high)


def _length(low: int, high: int | None) -> Constraint:
    return lambda value: len(value) >= low and (high is None or len(value) <= high)


def _exact_or_range_length(arguments: str) -> Constraint:
    low, _, high = arguments.partition(",")
    return _length(int(low), int(high or low))


def _range(arguments: str) -> Constraint:
    low, _, high = arguments.partition(",")
    return _between(int(low), int(high))


def _matches(pattern: re.Pattern[str]) -> Constraint:
    return lambda value: pattern.fullmatch(value) is not None


def _regex(arguments: str) -> Constraint:
    pattern = re.compile(arguments, re.IGNORECASE)
    return lambda value: pattern.search(value) is not None


def _is_datetime(value: str) -> bool:
    return any(_parses(value, date_format) for date_format in _DATE_FORMATS)


def _parses(value: str, date_format: str) -> bool:
    try:
        datetime.strptime(value, date_format)
    except ValueError:
        return False
    return True


_CONSTRAINTS: Mapping[str, Callable[[str], Constraint]] = {
    "int": lambda _: _integer(32),
    "long": lambda _: _integer(64),
    "bool": lambda _: lambda value: value.lower() in ("true", "false"),
    "datetime": lambda _: _is_datetime,
    "decimal": lambda _: _matches(_DECIMAL),
    "double": lambda _: _matches(_NUMBER),
    "float": lambda _: _matches(_NUMBER),
    "guid": lambda _: _matches(_GUID),
    "alpha": lambda _: _matches(_ALPHA),
    "required": lambda _: lambda value: value != "",
    "regex": _regex,
    "min": lambda low: _between(int(low), None),
    "max": lambda high: _between(None, int(high)),
    "range": _range,
    "minlength": lambda low: _length(int(low), None),
    "maxlength": lambda high: _length(0, int(high)),
    "length": _exact_or_range_length,
}
