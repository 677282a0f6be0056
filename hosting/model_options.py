"""The model's options that an agent's author lets callers choose, and within which bounds.

Theory. An agent's model, instructions and options are its author's. `add_agent(options={...})` names those that a
request may set, each with its bounds. A request's options are read here once, before anything is stored: each is within
its bounds, or the request is refused by the place in it. They are stored with the run, so whoever continues it has the
same ones. An option that is not declared is ignored, and the answer names it. Only a choice of tools is refused then: a
caller who wants a tool called, or none, gets another answer without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from hosting.errors import ConfigurationError, InvalidFieldError

Declared = Mapping[str, Any]
"""The bounds of the options that callers may set, by their names. `check_declared` has seen them."""

OPTIONS = "options"
"""The member that has them: of a request, of its metadata or of a tool's arguments."""
IGNORED = "ignored"
"""The member of an answer that names the options of its request without an effect."""
TOOL_CHOICE = "tool_choice"
INSTRUCTIONS = "instructions"
_EFFORT = "reasoning_effort"
_EMPTY: tuple[Any, ...] = ("", [], {})


class _Kind(Protocol):
    """What an author may declare of an option, and what callers may then send.

    `form` is the declaration in words.
    """

    @property
    def form(self) -> str: ...

    def is_declared(self, bounds: Any) -> bool:
        """Return whether these are bounds of such an option."""

    def schema(self, bounds: Any) -> dict[str, Any]:
        """Return the JSON Schema of the values within the bounds."""

    def wanted(self, bounds: Any) -> str:
        """Return the values within the bounds, in words."""

    def within(self, value: object, bounds: Any) -> Any:
        """Return a value within the bounds as it is stored, None for any other."""


class _Between(Struct, frozen=True):
    """A number from the one to the other of two bounds, which are themselves from `least` to `most`."""

    least: float
    most: float
    is_whole: bool = False

    @property
    def form(self) -> str:
        return f"a pair (least, most) of {self._numbers}s from {self.least:g} to {self.most:g}"

    @property
    def _numbers(self) -> str:
        return "whole number" if self.is_whole else "number"

    def is_declared(self, bounds: Any) -> bool:
        if not isinstance(bounds, list | tuple) or len(bounds) != 2 or None in map(self._number, bounds):
            return False
        return bool(self.least <= bounds[0] <= bounds[1] <= self.most)

    def schema(self, bounds: Any) -> dict[str, Any]:
        return {"type": "integer" if self.is_whole else "number", "minimum": bounds[0], "maximum": bounds[1]}

    def wanted(self, bounds: Any) -> str:
        return f"a {self._numbers} from {bounds[0]} to {bounds[1]}"

    def within(self, value: object, bounds: Any) -> Any:
        number = self._number(value)
        return number if number is not None and bounds[0] <= number <= bounds[1] else None

    def _number(self, value: object) -> float | None:
        """Return a number as it is stored, so that equal ones are the same: 1.0 is a whole number too."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if self.is_whole:
            return int(value) if isinstance(value, int) or value.is_integer() else None
        return float(value) if self.least <= value <= self.most else None


class _UpTo(Struct, frozen=True):
    """A whole number of tokens up to a bound, or a text of so many characters."""

    unit: str
    is_text: bool = False

    @property
    def form(self) -> str:
        return f"a whole number above 0, the most {self.unit}"

    def is_declared(self, bounds: Any) -> bool:
        return isinstance(bounds, int) and not isinstance(bounds, bool) and bounds > 0

    def schema(self, bounds: Any) -> dict[str, Any]:
        if self.is_text:
            return {"type": "string", "maxLength": bounds}
        return {"type": "integer", "minimum": 1, "maximum": bounds}

    def wanted(self, bounds: Any) -> str:
        return f"a text of at most {bounds} {self.unit}" if self.is_text else f"a whole number from 1 to {bounds}"

    def within(self, value: object, bounds: Any) -> Any:
        if self.is_text:
            return value if isinstance(value, str) and len(value) <= bounds and _is_whole(value) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
            return None
        return int(value) if 1 <= value <= bounds else None


def _is_whole(text: str) -> bool:
    """Return whether a text can be stored: it has no half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


class _OneOf(Struct, frozen=True):
    """A word of a list; of `known` ones, where agent-framework knows no others."""

    known: tuple[str, ...] = ()

    @property
    def form(self) -> str:
        return f"a list of {', '.join(map(repr, self.known))}" if self.known else "a list of the model's words for it"

    def is_declared(self, bounds: Any) -> bool:
        return (
            isinstance(bounds, list | tuple)
            and bool(bounds)
            and all(isinstance(word, str) and word.strip() for word in bounds)
            and (not self.known or set(bounds) <= set(self.known))
        )

    def schema(self, bounds: Any) -> dict[str, Any]:
        return {"enum": [*bounds]}

    def wanted(self, bounds: Any) -> str:
        return " or ".join(map(repr, bounds))

    def within(self, value: object, bounds: Any) -> Any:
        return value if isinstance(value, str) and value in bounds else None


_KINDS: Mapping[str, _Kind] = {
    "temperature": _Between(0, 2),
    "top_p": _Between(0, 1),
    "frequency_penalty": _Between(-2, 2),
    "presence_penalty": _Between(-2, 2),
    "seed": _Between(-(2**63), 2**63 - 1, is_whole=True),
    "max_tokens": _UpTo("tokens"),
    _EFFORT: _OneOf(),
    "verbosity": _OneOf(),
    TOOL_CHOICE: _OneOf(("auto", "required", "none")),
    INSTRUCTIONS: _UpTo("characters", is_text=True),
}
"""The options by agent-framework's names."""

OPTION_NAMES = tuple(_KINDS)


def check_declared(owner: str, declared: object) -> None:
    """Raise `ConfigurationError` for what declares no options of callers; the owner is an agent, or the app."""
    if not isinstance(declared, Mapping):
        raise ConfigurationError(
            f"options of {owner} is a {type(declared).__name__}. Give a dict, such as "
            '{"temperature": (0, 1), "max_tokens": 2000}.'
        )
    for name, bounds in declared.items():
        kind = _KINDS.get(name)
        if kind is None:
            known = ", ".join(map(repr, _KINDS))
            raise ConfigurationError(f"options of {owner} has {name!r:.80}. Callers may set: {known}.")
        if not kind.is_declared(bounds):
            raise ConfigurationError(f"options[{name!r}] of {owner} is {bounds!r:.80}. Give {kind.form}.")


def read_options(sent: Iterable[tuple[str, str, object]], declared: Declared) -> tuple[dict[str, Any], list[str]]:
    """Return the members of a `RunRequest` for the options of a request, and the places of those that are ignored.

    Each that was `sent` is its place in the request, its name here or none, and its value. Raises `InvalidFieldError`.
    """
    options, ignored = dict[str, Any](), list[str]()
    for place, name, value in sent:
        if value is None:
            continue
        if name not in declared:
            if name == TOOL_CHOICE:
                raise InvalidFieldError(
                    f"The field {place!r} is {str(value)[:80]!r}, and the agent's author lets nobody choose. Leave it "
                    "out."
                )
            if value not in _EMPTY:
                ignored.append(place)
            continue
        kind, bounds = _KINDS[name], declared[name]
        option = kind.within(value, bounds)
        if option is None:
            shown = "" if name == INSTRUCTIONS else f" is {str(value)[:80]!r} and"
            raise InvalidFieldError(f"The field {place!r}{shown} must be {kind.wanted(bounds)}.")
        if option in _EMPTY:
            continue
        if options.setdefault(name, option) != option:
            raise InvalidFieldError(f"The field {place!r} has another value than the other field for it. Send one.")
    if options.get(TOOL_CHOICE) == "none":
        del options[TOOL_CHOICE]
        return {"options": options, "enable_tool_calls": False}, ignored
    return {"options": options}, ignored


class ChosenOptions(Struct, frozen=True):
    """The members of a `RunRequest` that a request's options fill, and the places of those that have no effect."""

    members: Mapping[str, Any] = {}
    ignored: Sequence[str] = ()


def read_chosen(value: object, declared: Declared, place: str = OPTIONS) -> ChosenOptions:
    """Return the options that stand at a place of a request, by their names here; none for null.

    Every door reads them by this. Raises `InvalidFieldError` for an unknown one, for one out of its bounds, and for a
    choice of tools that the author does not leave to callers.
    """
    if value is None:
        return ChosenOptions()
    if not isinstance(value, Mapping):
        raise InvalidFieldError(f"The field {place!r} is {str(value)[:80]!r}. Send an object of options.")
    if unknown := [name for name in value if name not in OPTION_NAMES]:
        listed = ", ".join(OPTION_NAMES)
        raise InvalidFieldError(f"The field {place!r} has {str(unknown[0])[:80]!r}. Known options: {listed}.")
    return ChosenOptions(*read_options(((f"{place}.{name}", name, option) for name, option in value.items()), declared))


def ignored_names(sent: object, stored: Mapping[str, Any], place: str = OPTIONS) -> list[str]:
    """Return the places of the options that were sent, and that a stored run does not have: they had no effect.

    A choice of tools is never among them: without an effect it is refused.
    """
    members = sent.items() if isinstance(sent, Mapping) else ()
    return [
        f"{place}.{name}"
        for name, value in members
        if value is not None and value not in _EMPTY and name not in (*stored, TOOL_CHOICE)
    ]


def ignored_member(sent: object, stored: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the member of an answer that names the options without an effect; none where all have one."""
    ignored = ignored_names(sent, stored)
    return {IGNORED: ignored} if ignored else {}


def split_options(options: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the model's options among those that Python code gives to a run, and the others.

    Bounds are checked where the run is accepted: only there the agent is sure to be known. Raises `InvalidFieldError`
    for what are no options, and for a value that no option has.
    """
    if options is not None and not isinstance(options, Mapping):
        raise InvalidFieldError(f"options is a {type(options).__name__}. Give a dict of options.")
    others = {name: value for name, value in (options or {}).items() if value is not None}
    of_model = {name: others.pop(name) for name in OPTION_NAMES if name in others}
    for name, value in of_model.items():
        if not isinstance(value, str | int | float):
            raise InvalidFieldError(f"The option {name!r} is {value!r:.80}. Give a number or a text.")
    return of_model, others


def bounds_schemas(declared: Declared) -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each option that callers set, by its name."""
    return {name: _KINDS[name].schema(bounds) for name, bounds in declared.items()}


def options_schema(declared: Declared) -> dict[str, Any]:
    """Return the JSON Schema of the options of a request, by their names: those that are ignored are anything."""
    members: dict[str, Any] = {
        name: {"anyOf": [kind.schema(declared[name]), {"type": "null"}]} if name in declared else {}
        for name, kind in _KINDS.items()
    }
    if TOOL_CHOICE not in declared:
        members[TOOL_CHOICE] = {"type": "null"}
    return {"type": "object", "properties": members, "additionalProperties": False}


def options_after(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run that goes on with answers: a tool has been called, so none has to be any more."""
    return {name: option for name, option in options.items() if name != TOOL_CHOICE}


def chat_options(options: Mapping[str, Any], agent: object) -> dict[str, Any]:
    """Return a run's options as the client of an agent takes them.

    agent-framework has no name for the effort of reasoning: its client of OpenAI's Responses takes an object.
    """
    client_types = (kind.__name__ for kind in type(getattr(agent, "client", None)).__mro__)
    if _EFFORT not in options or "RawOpenAIChatClient" not in client_types:
        return dict(options)
    own = (getattr(agent, "default_options", None) or {}).get("reasoning") or {}
    others = {name: option for name, option in options.items() if name != _EFFORT}
    return {**others, "reasoning": {**own, "effort": options[_EFFORT]}}
