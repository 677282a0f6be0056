"""The contents of a request: texts, pictures and files in stored form, checked against the model's inputs.

`read_contents` checks them, `contents_schema` says the same as a JSON Schema. Both go by `Limits`: the sizes that the
settings allow, and what the agent's model takes besides text. An agent or its client declares that, else a
setting does: no client of agent-framework says it of itself, and a client that cannot take a content may drop it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from typing import Any

from msgspec import Struct

from hosting.errors import ConfigurationError, ContentTooLargeError, InvalidFieldError, UnsupportedContentError
from hosting.plan import AddressRules, AgentPlan
from hosting.settings import MODEL_INPUT, Settings
from hosting.strict_json.parsing import json_type, refuse_lone_surrogates
from hosting.workflows import WorkflowInput
from state.contents import GIVEN_KINDS, checked_content
from state.errors import BadContentError

ATTRIBUTE = "MODEL_INPUTS"
FILE = "hostedFile"
MOST_CONTENTS = 32
LONGEST_REFERENCE = 2048
LONGEST_NAME = 255  # of a file, as file systems have it
_INPUT = re.compile(MODEL_INPUT)
_TOKEN = "[a-z0-9!#$&^_.+-]+"
_MEDIA_TYPE = re.compile(f"{_TOKEN}/{_TOKEN}")
_LABEL = "[A-Za-z0-9-]{1,63}"
_HOST = f"{_LABEL}(\\.{_LABEL}){{0,3}}"
_PORT = "(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_BASE64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
_VISIBLE = re.compile(r"[\x21-\x7e]+\Z")
_BLANK = r"\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
NOT_BLANK: Mapping[str, Any] = {"type": "string", "pattern": f"[^{_BLANK}]"}
"""A text with a character that `str.strip` leaves. Written out, for `\\s` means something else in each language."""


class ModelInputs(Struct, frozen=True):
    """Media types, ranges of them like `image/*`, and `hostedFile` for files kept by the model's provider."""

    names: tuple[str, ...]

    def take(self, name: str) -> bool:
        """Return whether the model takes a media type in lower case, or `hostedFile`."""
        ranges = (f"{name.partition('/')[0]}/*", "*/*") if "/" in name else ()
        return any(accepted in self.names for accepted in (name, *ranges))

    def __str__(self) -> str:
        """Return the names as a sentence lists them."""
        return ", ".join(["text", *(name for name in self.names if name != "text")])


def model_inputs(agent: object, default: str) -> ModelInputs:
    """Return the attribute `MODEL_INPUTS` of an agent or of its client, else the setting's `default`.

    Raises `ConfigurationError` for a name in the attribute that is neither a media type nor `hostedFile` nor `text`.
    """
    for owner in (agent, getattr(agent, "client", None)):
        names = getattr(owner, ATTRIBUTE, None)
        if names is None:
            continue
        wrong = [names] if isinstance(names, str) else [name for name in names if not _INPUT.fullmatch(name)]
        if wrong:
            raise ConfigurationError(
                f"{ATTRIBUTE} of {type(owner).__name__} has {wrong[0]!r:.80}. List media types such as image/* or "
                f"application/pdf, {FILE}, or text for nothing else."
            )
        return ModelInputs(tuple(names))
    return ModelInputs(tuple(name.strip() for name in default.split(",")))


class Limits(Struct, frozen=True):
    """The limits of a request: bytes of a body and of a data URI, the caller's roles, the model's inputs.

    With `takes_values` a message may be any JSON value. Of a workflow, what its start executor takes is the `workflow`.
    `webhooks` are the rules of the webhooks that a request may name; without them it may name none.
    `own_tools` returns the names that no tool of a caller may have; None where the agent takes none. `options` are
    those of its model that a request may set.
    """

    body_bytes: int
    data_bytes: int
    roles: tuple[str, ...]
    inputs: ModelInputs
    workflow: WorkflowInput | None = None
    takes_values: bool = False
    webhooks: AddressRules | None = None
    own_tools: Callable[[], Set[str]] | None = None
    options: Mapping[str, Any] = {}


def limits_of(planned: AgentPlan | None, settings: Settings) -> Limits:
    """Return the limits of an agent, None for another host's; raises `ConfigurationError` for wrong model inputs."""
    return Limits(
        body_bytes=settings.max_body_bytes,
        data_bytes=settings.max_data_bytes,
        roles=tuple(role.strip() for role in settings.caller_roles.split(",")),
        inputs=model_inputs(None if planned is None else planned.agent, settings.model_inputs),
        workflow=None if planned is None or planned.workflow is None else planned.workflow.input,
        takes_values=settings.message_types == "any",
        webhooks=None if planned is None else planned.addresses,
        own_tools=None if planned is None else planned.own_tools,
        options=(planned and planned.options.model_options) or {},
    )


def contents_schema(limits: Limits) -> dict[str, Any]:
    """Return the schema of a list of contents, without those that the model does not accept."""
    file_name = {**NOT_BLANK, "maxLength": LONGEST_NAME}
    reference = {"type": "string", "maxLength": LONGEST_REFERENCE}
    properties: dict[str, Mapping[str, Any]] = {"text": {"text": NOT_BLANK}}
    if media := _media_pattern(limits.inputs, ""):
        properties["data"] = {
            "uri": {"type": "string", "maxLength": limits.data_bytes, "pattern": f"^data:{media};base64,{_BASE64}$"},
            "mediaType": {"type": "string", "pattern": f"^{media}$"},
            "name": file_name,
        }
    if media := _media_pattern(limits.inputs, "image/"):
        properties["uri"] = {
            "uri": {**reference, "pattern": f"^https?://{_HOST}(:{_PORT})?(/[!-~]*)?$"},
            "mediaType": {"type": "string", "pattern": f"^{media}$"},
            "name": file_name,
        }
    if limits.inputs.take(FILE):
        properties[FILE] = {"fileId": {**NOT_BLANK, "maxLength": LONGEST_REFERENCE}}
    schemas = [
        {
            "type": "object",
            "properties": {
                "$type": {"const": name},
                **{member: properties[name][member] for member in (*kind.required, *kind.optional)},
            },
            "required": ["$type", *kind.required],
            "additionalProperties": False,
        }
        for name, kind in GIVEN_KINDS.items()
        if name in properties
    ]
    return {"type": "array", "maxItems": MOST_CONTENTS, "items": {"oneOf": schemas}}


def _media_pattern(inputs: ModelInputs, beginning: str) -> str | None:
    """Return a pattern of the media types that are taken and begin so, or None when none does."""
    names = [f"{beginning}*" if beginning and name == "*/*" else name for name in inputs.names if "/" in name]
    patterns = [
        "/".join(_TOKEN if part == "*" else part.replace(".", "\\.").replace("+", "\\+") for part in name.split("/", 1))
        for name in names
        if name.startswith(beginning)
    ]
    return f"(?:{'|'.join(patterns)})" if patterns else None


def read_contents(value: object, limits: Limits) -> tuple[dict[str, Any], ...]:
    """Return the contents in stored form, media types in lower case; raise a `HostingError` that names the index."""
    if not isinstance(value, list):
        raise InvalidFieldError(f"The field 'contents' is a JSON {json_type(value)}. Send an array of contents.")
    if len(value) > MOST_CONTENTS:
        raise InvalidFieldError(f"The field 'contents' has {len(value)} items; the limit is {MOST_CONTENTS}.")
    refuse_lone_surrogates(value)
    return tuple(_read_content(index, item, limits) for index, item in enumerate(value))


def _read_content(index: int, value: object, limits: Limits) -> dict[str, Any]:
    try:
        content = checked_content(index, value)
    except BadContentError as error:
        raise InvalidFieldError(f"The field 'contents' is not valid: {error}") from None
    kind = content["$type"]
    if kind == "text":
        return content
    if kind == FILE:
        name = FILE
        if len(content["fileId"]) > LONGEST_REFERENCE:
            raise InvalidFieldError(f"contents[{index}].fileId has more than {LONGEST_REFERENCE} characters.")
    else:
        name = _media_type(index, content, limits)
        content = {**content, "mediaType": name}
        if len(content.get("name", "")) > LONGEST_NAME:
            raise InvalidFieldError(f"contents[{index}].name has more than {LONGEST_NAME} characters.")
    if not limits.inputs.take(name):
        raise UnsupportedContentError(
            f"contents[{index}] is {name}, and the model of this agent takes {limits.inputs} only."
        )
    return content


def _media_type(index: int, content: Mapping[str, Any], limits: Limits) -> str:
    """Return the media type of data or of a reference, in lower case; refuse it if the address contradicts it."""
    is_data, uri = content["$type"] == "data", content["uri"]
    if is_data and len(uri) > limits.data_bytes:
        raise ContentTooLargeError(
            f"contents[{index}] has {len(uri):,} bytes as a data URI; the limit is {limits.data_bytes:,}. Send a "
            "smaller one, or a uri."
        )
    if not is_data and not _is_web_address(uri):
        raise InvalidFieldError(
            f"contents[{index}].uri is {uri!r:.80}. Send an http or https address of at most "
            f"{LONGEST_REFERENCE} characters; the model's provider fetches it, this app does not."
        )
    media_type = checked_media_type(f"contents[{index}].mediaType", str(content["mediaType"]))
    if is_data and not uri[5:].lower().startswith((f"{media_type};", f"{media_type},")):
        raise InvalidFieldError(f"contents[{index}].mediaType is {media_type!r}, and its data URI has another type.")
    if not is_data and not media_type.startswith("image/"):
        raise UnsupportedContentError(
            f"contents[{index}] refers to {media_type}: only pictures may be sent by reference. Send it as data."
        )
    return media_type


def checked_media_type(field: str, value: str) -> str:
    """Return a media type in lower case; raise `InvalidFieldError`, with the field as the caller knows it, for none."""
    media_type = value.lower()
    if not _MEDIA_TYPE.fullmatch(media_type):
        raise InvalidFieldError(f"{field} is {media_type!r:.80}. Send one like image/png, without parameters.")
    return media_type


def _is_web_address(uri: str) -> bool:
    scheme = uri.partition(":")[0].lower()
    return len(uri) <= LONGEST_REFERENCE and _VISIBLE.match(uri) is not None and scheme in ("http", "https")
