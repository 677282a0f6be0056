"""What `contents` takes, as a JSON Schema: made of the kinds that `state.given` reads and of what the model takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hosting.request.limits import Limits
from hosting.request.model_inputs import FILE, ModelInputs
from state.given import KINDS, Kind

MOST_CONTENTS = 32
LONGEST_REFERENCE = 2048
_TOKEN = "[a-z0-9!#$&^_.+-]+"
MEDIA_TYPE = f"{_TOKEN}/{_TOKEN}"
_BASE64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
_NOT_BLANK: Mapping[str, Any] = {"type": "string", "pattern": "\\S"}

Properties = Mapping[str, Any]


def contents_schema(limits: Limits) -> dict[str, Any]:
    """Return the schema of a list of contents; what the model does not take is not in it."""
    kinds = {name: _PROPERTIES[name](limits) for name in KINDS}
    taken = [_content(name, KINDS[name], properties) for name, properties in kinds.items() if properties is not None]
    return {"type": "array", "maxItems": MOST_CONTENTS, "items": {"oneOf": taken}}


def _content(name: str, kind: Kind, properties: Properties) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "$type": {"const": name},
            **{known: properties[known] for known in (*kind.required, *kind.optional)},
        },
        "required": ["$type", *kind.required],
        "additionalProperties": False,
    }


def _text(limits: Limits) -> Properties:
    return {"text": _NOT_BLANK}


def _data(limits: Limits) -> Properties | None:
    media = _media_pattern(limits.inputs, "")
    if media is None:
        return None
    uri = {"type": "string", "maxLength": limits.data_bytes, "pattern": f"^data:{media};base64,{_BASE64}$"}
    return {"uri": uri, "mediaType": {"type": "string", "pattern": f"^{media}$"}}


def _picture(limits: Limits) -> Properties | None:
    media = _media_pattern(limits.inputs, "image/")
    if media is None:
        return None
    address = "^https?://[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?(/[!-~]*)?$"
    uri = {"type": "string", "maxLength": LONGEST_REFERENCE, "pattern": address}
    return {"uri": uri, "mediaType": {"type": "string", "pattern": f"^{media}$"}}


def _file(limits: Limits) -> Properties | None:
    file_id = {**_NOT_BLANK, "maxLength": LONGEST_REFERENCE}
    return {"fileId": file_id} if limits.inputs.take(FILE) else None


def _media_pattern(inputs: ModelInputs, kind: str) -> str | None:
    """Return a pattern of the media types that are taken and begin with `kind`, or None when none does."""
    names = [name for name in inputs.names if "/" in name]
    if kind:
        names = [f"{kind}*" if name == "*/*" else name for name in names]
    found = [_pattern_of(name) for name in names if name.startswith(kind)]
    return f"(?:{'|'.join(found)})" if found else None


def _pattern_of(name: str) -> str:
    kind, _, subtype = name.partition("/")
    return "/".join(_TOKEN if part == "*" else part.replace(".", "\\.").replace("+", "\\+") for part in (kind, subtype))


_PROPERTIES: Mapping[str, Callable[[Limits], Properties | None]] = {
    "text": _text,
    "data": _data,
    "uri": _picture,
    "hostedFile": _file,
}
