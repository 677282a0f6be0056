"""The value of an answer that was asked for in a format: parsed strictly and checked, or a failed run."""

from __future__ import annotations

from typing import Any

from hosting.errors import HostingError, InvalidOutputError
from hosting.request.strict_json import json_type, parse_json
from hosting.requests import ResponseFormat

CHECK_SECONDS = 5.0


def structured_value(wanted: ResponseFormat, text: str) -> Any:
    """Return the JSON value of an answer's text when it is what was wanted.

    Raises `InvalidOutputError`, which names the place and the rule and quotes nothing of the answer. May take up to
    `CHECK_SECONDS` and more for a large answer: call it in a thread.
    """
    try:
        value = parse_json(text.encode("utf-8", "surrogatepass"))
    except HostingError:  # its sentence speaks of a request, and quotes
        raise InvalidOutputError("The answer is not one strict JSON value, as response_format wants it.") from None
    fault = _fault(wanted, value)
    if fault is not None:
        raise InvalidOutputError(f"The answer does not fit response_format: {fault}.")
    return value


def _fault(wanted: ResponseFormat, value: Any) -> str | None:
    if wanted.json_schema is None:
        return None if isinstance(value, dict) else f"it is a JSON {json_type(value)} and not an object"
    from hosting.request.schema_values import UncheckableError, value_fault

    try:
        return value_fault(wanted.json_schema, value, CHECK_SECONDS)
    except UncheckableError as error:
        return str(error)
