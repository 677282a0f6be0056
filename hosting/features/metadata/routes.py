"""The routes of a thread's metadata, with their bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hosting import errors
from hosting.core.outcome import ThreadIds
from hosting.http import places
from hosting.http.parameters import Parameter
from hosting.http.route import STORES, Header, ResponseSpec, Route
from hosting.http.run_call import JsonBody
from hosting.metadata import SCHEMA, Value
from hosting.strict_json.parsing import Schema


class MetadataChangedError(errors.RequestError, code="metadata_changed", status=412):
    """The thread's metadata is not what `If-Match` names any more: another request changed it."""


class MetadataOfThread(ThreadIds):
    """A thread's metadata."""

    metadata: dict[str, Value]


_ETAGS = re.compile(r'\*|"[0-9]{1,9}"')
IF_MATCH = Parameter(
    "if-match",
    "header",
    "ETag of the metadata that you read: it is changed only if it is still the same.",
    {"type": "string", "pattern": r'^(?:\*|"[0-9]{1,9}")$'},
    _ETAGS,
    'the ETag of GET .../metadata, such as "12", or *.',
)
_METADATA: Mapping[str, Schema] = {
    "metadata": {**SCHEMA, "description": "The members that change; null removes one, and the others stay."}
}
CHANGE_BODY = JsonBody(_METADATA, ("metadata",), '{"metadata": {"team": "red"}}')
_ETAG = (Header("ETag", "The version of the metadata, for If-Match."),)
_ANSWERS = (ResponseSpec(200, "The thread's metadata.", MetadataOfThread, _ETAG),)
METADATA = places.THREAD.below("metadata")
READ = Route(
    "thread_metadata",
    "GET",
    METADATA,
    "Read a thread's metadata",
    _ANSWERS,
    (errors.ThreadDeletingError, errors.UnreadableStateError, *STORES),
)
CHANGE = Route(
    "thread_metadata_change",
    "PATCH",
    METADATA,
    "Change members of a thread's metadata",
    _ANSWERS,
    (
        MetadataChangedError,
        errors.ThreadDeletingError,
        errors.ThreadDeletedError,
        errors.UnreadableStateError,
        *STORES,
    ),
    (IF_MATCH,),
    body=CHANGE_BODY,
    needs="own",
)
ROUTES = (READ, CHANGE)
