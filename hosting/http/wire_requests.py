"""The parts of reading a request that are the same over every wire: its path, its JSON, a message of parts."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from hosting.core.request.contents import Limits
from hosting.core.request.fields import read_members
from hosting.core.thread.run_request import UserMessage
from hosting.errors import (
    HostingError,
    InvalidFieldError,
    MethodNotAllowedError,
    MissingMessageError,
    UnsupportedMediaTypeError,
)
from hosting.http.route import Route
from hosting.http.run_call import RawRequest, body_form, json_fields
from hosting.model_options import OPTIONS, ChosenOptions, Declared, read_chosen
from hosting.strict_json.parsing import json_type, refuse_lone_surrogates


class UnknownPathError(HostingError, code="unknown_url", status=404):
    """A path that the protocol does not have, or that this app does not serve."""


def operation_of(routes: Iterable[Route], page: str, method: str, path: str) -> Route:
    """Return the route of a wire for a method and a path below the wire's own; `page` of the docs lists all of them.

    Raises `UnknownPathError`, or `MethodNotAllowedError` if the path has other methods.
    """
    served = [route for route in routes if path_parts(route, path) is not None]
    for route in served:
        if route.method == method:
            return route
    if served:
        methods = " or ".join(route.method for route in served)
        raise MethodNotAllowedError(f"{method} is not served at {path[:80]!r}. Send {methods}.")
    raise UnknownPathError(f"{method} {path[:80]!r} is not served here. {page} lists all routes.")


def path_parts(route: Route, path: str) -> dict[str, str] | None:
    """Return the parts of a path that its operation names, None for a path of another."""
    wanted, given = route.path.split("/")[1:], path.rstrip("/").split("/")
    named = {part: text for part, text in zip(wanted, given, strict=False) if part.startswith("{")}
    if len(wanted) != len(given) or [named.get(part, part) for part in wanted] != given or "" in given:
        return None
    return {part.strip("{}"): text for part, text in named.items()}


def object_fields(call: RawRequest, known: Set[str], most_bytes: int) -> dict[str, Any]:
    """Return the members of a body that is one JSON object of known ones; raises `HostingError`s."""
    if body_form(call, most_bytes) != "json":
        raise UnsupportedMediaTypeError("The body must be JSON. Send the header Content-Type: application/json.")
    fields = json_fields(call.body, known)
    refuse_lone_surrogates(fields)
    return fields


def spellings_of(names: Iterable[str]) -> Mapping[str, str]:
    """Return members' names by each of their spellings: Python's clients have `threadId` as `thread_id`."""
    return {
        spelling: name
        for name in names
        for spelling in (name, "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name))
    }


def spelled_fields(call: RawRequest, spellings: Mapping[str, str], most_bytes: int) -> dict[str, Any]:
    """Return the members of a body under the protocol's names; raises as `object_fields`, and where two differ."""
    members: dict[str, Any] = {}
    for spelling, value in object_fields(call, spellings.keys(), most_bytes).items():
        name = spellings[spelling]
        if members.setdefault(name, value) != value:
            raise InvalidFieldError(f"The field {name!r} is also sent as {spelling!r}, and differs. Send one.")
    return members


def chosen_within(places: Mapping[str, object], declared: Declared) -> ChosenOptions:
    """Return the model's options in what a client sends for anything, by its places; raises as `read_chosen`.

    Only one of the places may have them.
    """
    sent = {
        f"{place}.{OPTIONS}": options
        for place, value in places.items()
        if isinstance(value, dict) and (options := value.get(OPTIONS)) is not None
    }
    if len(sent) > 1:
        raise InvalidFieldError(f"The fields {' and '.join(map(repr, sent))} are both there. Send one.")
    return next((read_chosen(options, declared, place) for place, options in sent.items()), ChosenOptions())


def read_message(
    where: str,
    message: Mapping[str, Any],
    text_type: str,
    read_part: Callable[[str, Mapping[str, Any]], dict[str, Any]],
    limits: Limits,
) -> UserMessage:
    """Return a message of a text, or of parts; `read_part` returns one in stored form, which is checked here.

    A text is a part of the `text_type`. Raises `HostingError`s that begin with `where` the message stands.
    """
    content = message.get("content")
    parts = [{"type": text_type, "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise InvalidFieldError(f"{where}.content is a JSON {json_type(content)}. Send a text, or a list of parts.")
    contents = [read_part(f"{where}.content[{number}]", part) for number, part in enumerate(parts)]
    return message_of_contents(where, contents, message.get("role"), limits)


def linked_file(url: str, media_type: str | None = None, name: object = None) -> dict[str, Any]:
    """Return a file at a URL in stored form. Without a media type the URL's path says it, or it is taken for a JPEG."""
    guessed, _ = mimetypes.guess_type(url.partition("?")[0])
    return _file("uri", url, media_type or guessed or "image/jpeg", name)


def inline_file(content: str, media_type: str | None = None, name: object = None) -> dict[str, Any]:
    """Return a file in stored form: of Base64 with its media type, or of a data URL, which has its own."""
    return _file("data", content if media_type is None else f"data:{media_type};base64,{content}", media_type, name)


def _file(kind: str, uri: str, media_type: str | None, name: object) -> dict[str, Any]:
    members = {"$type": kind, "uri": uri, "mediaType": media_type, "name": name}
    return {member: value for member, value in members.items() if value is not None}


def message_of_contents(where: str, contents: list[dict[str, Any]], role: object, limits: Limits) -> UserMessage:
    """Return a message of contents in stored form; a text that comes first is the message itself.

    Raises `HostingError`s that begin with `where` it stands.
    """
    fields: dict[str, Any] = {"contents": contents, "role": role}
    if contents and contents[0]["$type"] == "text":
        fields |= {"message": contents[0]["text"], "contents": contents[1:]}
    try:
        members = read_members(fields, limits, needs_message=False)
        if not members.get("message") and not members.get("contents"):
            raise MissingMessageError("The message is empty. Say what to ask the agent.")
        return UserMessage(**members)
    except HostingError as error:
        error.detail = f"{where}: {error.detail}"
        raise
