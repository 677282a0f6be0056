"""Route templates as ASP.NET Core reads them, compiled to regular expressions (host contract 2.1).

A template is cut into tokens, literal texts and parameters, and these into segments at the slashes of the literals. A
whole segment that is optional, has a default or is a catch-all may be absent with its slash. An optional parameter at
the end of a mixed segment (`{a}.{ext?}`) may be absent with the dot before it, so such a template has two expressions:
the longer one is tried first, as ASP.NET does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from devhost.errors import RouteError
from devhost.http.constraints import Constraint, make_constraint

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
    """A compiled template; the expressions are tried in order on the decoded path without slashes at its ends."""

    text: str
    expressions: tuple[re.Pattern[str], ...]
    parameters: tuple[Parameter, ...]

    def match(self, path: str) -> Mapping[str, str] | None:
        """Return the parameters' values, absent optional ones left out, or None when the path does not match."""
        for expression in self.expressions:
            found = expression.fullmatch(path)
            if found:
                return self._values(found)
        return None

    def _values(self, found: re.Match[str]) -> Mapping[str, str] | None:
        values: dict[str, str] = {}
        groups = found.groupdict()
        for position, parameter in enumerate(self.parameters):
            value = groups.get(f"p{position}") or parameter.default
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
    return Template(text, tuple(_expression(variant) for variant in variants), parameters)


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
        constraints=tuple(make_constraint(part) for part in _split_constraints(found["constraints"] or "")),
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
