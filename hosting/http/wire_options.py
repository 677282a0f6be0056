"""The model's options and the caller's tools in a request of OpenAI's protocols.

Theory. An agent's options and tools are its author's, who says which options callers may set. What a caller sends
besides is ignored, and the answer names it, unless the value is what happens anyway. The tools that a caller sends are
the caller's own: the request may say that the model is to call one of them, which one, or one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hosting.client_tools import ClientTool
from hosting.core.request.contents import Limits
from hosting.errors import InvalidFieldError
from hosting.http.client_tools import read_functions
from hosting.http.wire import Schema
from hosting.http.wire_openai import NotServedError
from hosting.model_options import TOOL_CHOICE, read_options
from hosting.strict_json.parsing import json_type

TOOL_CHOICES: Schema = {"anyOf": [{"enum": ["auto", "none", "required", None]}, {"type": "object"}]}
"""The JSON Schema of a choice of tools."""

PARALLEL = "parallel_tool_calls"
ONE_CALL = "allow_multiple_tool_calls"
"""agent-framework's name for it."""

_OUR_NAMES = {
    **dict.fromkeys(("max_completion_tokens", "max_output_tokens"), "max_tokens"),
    "reasoning.effort": "reasoning_effort",
    "text.verbosity": "verbosity",
}
"""The options that have other names in OpenAI's protocols, by those."""

_USUAL: Mapping[str, tuple[Any, ...]] = {
    PARALLEL: (True,),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "truncation": ("disabled",),
}
"""The values of fields without an effect that ask for what happens anyway."""

_Mode = str | dict[str, str]
_OWN = "the request's own 'tools'"


def openai_options(
    fields: Mapping[str, Any], own: Iterable[str], limits: Limits, member: str = ""
) -> tuple[dict[str, Any], list[str]]:
    """Return the members of a `RunRequest` for the tools and options that a request has, and the fields to ignore.

    `own` are the fields that are the agent's. A function is an item of the tools itself, or its `member`. Raises
    `InvalidFieldError`, and `NotServedError` for a choice of tools that the caller does not have.
    """
    declared = limits.options.get(TOOL_CHOICE, ())
    tools, mode = _chosen(
        fields.get(TOOL_CHOICE), member, read_functions(fields.get("tools"), limits, member), declared
    )
    sent = dict(_members(fields, own))
    is_single = bool(tools) and sent.get(PARALLEL) is False
    if is_single:
        del sent[PARALLEL]
    read, ignored = read_options(
        ((place, _OUR_NAMES.get(place, place), value) for place, value in sent.items()), limits.options
    )
    options = {**read["options"], **({ONE_CALL: False} if is_single else {})}
    if mode not in ("auto", "none"):
        options[TOOL_CHOICE] = mode
    return {"client_tools": tools, "enable_tool_calls": mode != "none", "options": options}, ignored


def _members(fields: Mapping[str, Any], own: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield the agent's own fields and their values: of `reasoning` and `text` the members that are options."""
    for name in sorted(own):
        value = fields.get(name)
        if value in _USUAL.get(name, ()):
            continue
        if name != "reasoning":
            yield name, value
        elif isinstance(value, dict):
            yield from ((f"{name}.{member}", of_member) for member, of_member in value.items())
        elif value is not None:
            raise InvalidFieldError(f"The field {name!r} is a JSON {json_type(value)}. Send an object.")
    text = fields.get("text")
    if isinstance(text, dict):
        yield "text.verbosity", text.get("verbosity")


def _chosen(
    value: object, member: str, tools: Sequence[ClientTool], declared: Iterable[str]
) -> tuple[tuple[ClientTool, ...], _Mode]:
    """Return the caller's tools that the model may call, and the choice as agent-framework has it.

    No tool, or any, is for every agent. Raises `NotServedError` for what the agent does not leave to its callers.
    """
    if value is None or isinstance(value, str):
        return tuple(tools), _word("auto" if value is None else value, tools, declared)
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "function":
        (tool,) = _named([value], member, tools)
        return tuple(tools), {"mode": "required", "required_function_name": tool.name}
    allowed = value.get("allowed_tools") if member and isinstance(value, dict) else value
    if kind != "allowed_tools" or not isinstance(allowed, dict):
        raise NotServedError(f"A choice of tools is a word, a function of {_OWN}, or some of those.", TOOL_CHOICE)
    items = allowed.get("tools")
    chosen = _named(items if isinstance(items, list) and items else [items], member, tools)
    return tuple(chosen), _word(allowed.get("mode"), chosen, ())


def _word(word: object, tools: Sequence[ClientTool], declared: Iterable[str]) -> str:
    """Return the word for a choice; that a tool be called may be asked for by whoever sends some."""
    if word in ("auto", "none", *declared) or (word == "required" and tools):
        return str(word)
    advice = "Send 'auto' or 'none', or leave it out."
    raise NotServedError(f"The model chooses its tools. {advice}", TOOL_CHOICE)


def _named(items: Sequence[object], member: str, tools: Sequence[ClientTool]) -> list[ClientTool]:
    """Return the caller's tools that these items name, in OpenAI's form; raises `NotServedError` for another one."""
    own = {tool.name: tool for tool in tools}
    chosen: dict[str, ClientTool] = {}
    for item in items:
        function = item.get(member) if member and isinstance(item, dict) else item
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or name not in own:
            raise NotServedError(
                f"A choice of tools names {name!r:.80}, which is no function of {_OWN}. The agent's tools are its "
                "model's to choose.",
                TOOL_CHOICE,
            )
        chosen[name] = own[name]
    return list(chosen.values())


def shown_choice(options: Mapping[str, Any]) -> str | dict[str, str]:
    """Return the choice of tools among a run's options as Responses says it."""
    mode = options.get(TOOL_CHOICE, "auto")
    return {"type": "function", "name": mode["required_function_name"]} if isinstance(mode, dict) else mode
