"""Forms of MCP, made of JSON Schemas: a client shows them to its person.

A form has texts, numbers and choices, also several at once, and nothing else within another. Versions before choices
had titles have them in members of their own, and no lists.
"""

from __future__ import annotations

from typing import Any

Form = dict[str, Any]

ANSWER = "answer"
_PLAIN = ("string", "number", "integer", "boolean")
_OF_ANY = ("type", "title", "description", "default")
_OF_PLAIN = (*_OF_ANY, "enum", "enumNames", "minLength", "maxLength", "minimum", "maximum", "format")
_OF_LIST = (*_OF_ANY, "minItems", "maxItems")
_FORMATS = ("email", "uri", "date", "date-time")


def form_schema(answer: Form, *, has_choices: bool) -> Form | None:
    """Return the schema of the form for an answer by that schema, None if the answer fits into none.

    A plain value is the form's one field `answer`; an object of plain values has its own fields.
    """
    if (field := plain_field(answer, answer, has_choices=has_choices)) is not None:
        return {"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]}
    properties = _object(answer.get("properties"))
    fields = {name: plain_field(member, answer, has_choices=has_choices) for name, member in properties.items()}
    if answer.get("type") != "object" or not fields or None in fields.values():
        return None
    required = answer.get("required")
    return {"type": "object", "properties": fields, "required": required if isinstance(required, list) else []}


def plain_field(member: object, root: Form, *, has_choices: bool) -> Form | None:
    """Return the schema of one field as a form has it; None for what is no plain value and no list of choices."""
    schema = _resolved(member, root)
    if schema.get("type") == "array":
        choices = _choices(_resolved(schema.get("items"), root))
        if choices is None or not has_choices:
            return None
        return {**{name: schema[name] for name in _OF_LIST if name in schema}, "items": choices}
    if schema.get("type") not in _PLAIN:
        return None
    field = {name: schema[name] for name in _OF_PLAIN if name in schema}
    if field.get("format") not in _FORMATS:
        field.pop("format", None)
    if (titled := _titled(schema.get("oneOf"))) is None:
        return field
    if has_choices:
        return {**field, "oneOf": titled}
    return {**field, "enum": [each["const"] for each in titled], "enumNames": [each["title"] for each in titled]}


def _resolved(schema: object, root: Form) -> Form:
    """Return a part of a schema, with what it refers to; an empty one for what is no schema."""
    if not isinstance(schema, dict):
        return {}
    kind, _, name = str(schema.get("$ref", "")).rpartition("/")
    return {**_object(_object(root.get("$defs")).get(name)), **schema} if kind == "#/$defs" else schema


def _choices(items: Form) -> Form | None:
    """Return the members of a list of choices as a form has them; None for other members."""
    if (titled := _titled(items.get("anyOf"))) is not None:
        return {"anyOf": titled}
    choices = items.get("enum")
    is_of_texts = isinstance(choices, list) and all(isinstance(choice, str) for choice in choices)
    return {"type": "string", "enum": choices} if is_of_texts else None


def _titled(choices: object) -> list[Form] | None:
    """Return choices that are texts with titles; None for anything else."""
    if not isinstance(choices, list) or not choices:
        return None
    titled = [{name: choice.get(name) for name in ("const", "title")} for choice in choices if isinstance(choice, dict)]
    is_whole = len(titled) == len(choices)
    return titled if is_whole and all(isinstance(text, str) for each in titled for text in each.values()) else None


def _object(value: object) -> Form:
    """Return a value that is an object; an empty one in place of whatever else is there."""
    return value if isinstance(value, dict) else {}
