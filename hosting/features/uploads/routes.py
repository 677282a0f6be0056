"""The routes of files, with their bodies (docs/guides/uploads.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from hosting import errors
from hosting.core.request.contents import Limits
from hosting.features.uploads.refusals import (
    ChunkIndexUnavailableError,
    FileNotFetchedError,
    FilesFullError,
    FileTooLargeError,
    HostNotAllowedError,
    InvalidRangeError,
    UnknownFileError,
    UnknownUploadError,
    UploadMismatchError,
)
from hosting.features.uploads.search.status import ShownIndex
from hosting.http import places
from hosting.http.parameters import CURSOR, LIMIT, Parameter, in_path
from hosting.http.route import LOG, Header, Place, Refusals, ResponseSpec, Route, ok
from hosting.http.run_call import JsonBody
from hosting.names import MAX_STORED_ID_LENGTH
from hosting.outside import LONGEST_URL
from hosting.strict_json.parsing import Schema

LONGEST_NAME = 255
UNSEEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0"
    r"\ufff0-\ufff8" + "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What no person sees and a model reads, such as a sentence in tags, and what shows a name in another order than it
has: `gnp.exe` as `exe.png`. Joiners and the style of an emoji stay: writing needs them."""
_UNNAMED = rf"/\\\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff{UNSEEN}"
"""Separators of paths, controls, and what cannot be seen."""
NAME_PATTERN = rf"^[^{_UNNAMED}]*[^{_UNNAMED}\s.][^{_UNNAMED}]*$"
"""A name has more than dots and spaces."""
_NAME_SCHEMA: Schema = {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "pattern": NAME_PATTERN}
LONGEST_MEDIA_TYPE = 127
FILE_ID_PATTERN = "[0-9a-f]{32}"
PART_ID_PATTERN = "[0-9a-f]{12}"
MOST_PARTS = 1000


class ShownFile(TypedDict):
    """A file: its `sha256` in hexadecimal digits, and `created_at` as RFC 3339.

    In an export `content_url` is below the URL of the app's routes. `index` is how far the search is with the file,
    where an agent searches it.
    """

    file_id: str
    name: str
    media_type: str
    bytes: int
    sha256: str
    created_at: str
    content_url: str
    index: NotRequired[ShownIndex]


class ShownQuota(TypedDict):
    """The bytes of all files of an owner, with those of the owner's threads, or of an agent.

    Uploads that are open have `open_bytes`. All may have `quota_bytes` together, and one file `file_bytes`.
    """

    bytes: int
    open_bytes: int
    quota_bytes: int
    file_bytes: int


class FileList(TypedDict):
    """Files, the oldest first. Who reads the files of a thread by a grant gets no `quota`: it is the owner's."""

    files: list[ShownFile]
    next_cursor: str | None
    quota: NotRequired[ShownQuota]


class ErasedFiles(TypedDict):
    """How many files were deleted, their bytes, and the chunks in which they were searched."""

    files: int
    bytes: int
    chunks: int


class ShownUpload(TypedDict):
    """A file that comes in parts, until `expires_at` (RFC 3339)."""

    upload_id: str
    name: str
    media_type: str
    bytes: int
    created_at: str
    expires_at: str


class ShownPart(TypedDict):
    """A part that has come."""

    part_id: str
    bytes: int


class FileBody:
    """The bytes of a file, as they are or as a form with one file."""

    def described(self, agents: Mapping[str, Limits], owner: str) -> dict[str, Any]:
        """Return the body as the OpenAPI document has it."""
        binary: Schema = {"type": "string", "format": "binary"}
        form: Schema = {
            "type": "object",
            "properties": {"file": binary},
            "required": ["file"],
            "additionalProperties": False,
        }
        content = {"multipart/form-data": {"schema": form}, "application/octet-stream": {"schema": binary}}
        return {"required": False, "content": content}  # a file may be empty


_ATTACHMENTS: Refusals = (*LOG, errors.AttachmentsUnavailableError)
_REMOVED: Refusals = (*_ATTACHMENTS, ChunkIndexUnavailableError)
_THREAD: Refusals = (errors.UnknownThreadError,)
_NEW: Refusals = (FileTooLargeError, FilesFullError, UploadMismatchError, UnknownUploadError, *_ATTACHMENTS)
_FETCHED: Refusals = (HostNotAllowedError, FileNotFetchedError, *_NEW)
_FILE_ID = in_path("file_id", "The file.", UnknownFileError, pattern=None)
_UPLOAD_ID = in_path("upload_id", "The upload.", UnknownUploadError, pattern=None)
NAME = Parameter(
    "name",
    "query",
    "The file's name; without it that of the form.",
    _NAME_SCHEMA,
)
RANGE = Parameter("range", "header", "bytes=FIRST-LAST: some of the bytes.", {"type": "string"}, refusals=())
_CONTENT_HEADERS = (
    Header("Content-Disposition", "The file's name: it is to be saved, not shown."),
    Header("ETag", "The content's SHA-256."),
    Header("Accept-Ranges", "bytes"),
)
_CONTENT = (
    ResponseSpec(200, "The bytes of the file.", None, _CONTENT_HEADERS),
    ResponseSpec(
        206, "The bytes of the range.", None, (*_CONTENT_HEADERS, Header("Content-Range", "Which bytes they are."))
    ),
)
FETCH_BODY = JsonBody(
    {
        "url": {"type": "string", "format": "uri", "maxLength": LONGEST_URL, "description": "Where the file is."},
        "name": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "description": "The file's name."},
        "media_type": {"type": "string", "maxLength": LONGEST_MEDIA_TYPE, "description": "The file's media type."},
    },
    ("url",),
    '{"url": "https://files.example/report.pdf"}',
)
UPLOAD_FIELDS: Mapping[str, Schema] = {
    "name": {**_NAME_SCHEMA, "description": "The file's name."},
    "bytes": {"type": "integer", "minimum": 1, "description": "How many bytes all parts have together."},
    "media_type": {"type": "string", "maxLength": LONGEST_MEDIA_TYPE, "description": "The file's media type."},
    "agent": {"type": "string", "description": "The agent of the thread whose file it is."},
    "thread_id": {"type": "string", "maxLength": MAX_STORED_ID_LENGTH, "description": "The thread."},
}
NEW_UPLOAD = JsonBody(
    UPLOAD_FIELDS,
    ("name", "bytes"),
    '{"name": "report.pdf", "bytes": 300000000}',
    together={"dependentRequired": {"agent": ["thread_id"], "thread_id": ["agent"]}},
)
_OWN_FIELDS = {name: schema for name, schema in UPLOAD_FIELDS.items() if name not in ("agent", "thread_id")}
NEW_AGENT_UPLOAD = JsonBody(_OWN_FIELDS, ("name", "bytes"), NEW_UPLOAD.example)
COMPLETION = JsonBody(
    {
        "part_ids": {
            "type": "array",
            "items": {"type": "string", "pattern": f"^{PART_ID_PATTERN}$"},
            "minItems": 1,
            "maxItems": MOST_PARTS,
            "description": "The parts in the order of the file.",
        },
        "md5": {"type": "string", "pattern": "^[0-9A-Fa-f]{32}$", "description": "The MD5 of the whole file."},
    },
    ("part_ids",),
    '{"part_ids": ["0123456789ab"]}',
)
_CREATED = (ResponseSpec(201, "The file.", ShownFile, (Header("Location", "The URL of the file."),)),)
_LOCATED = (Header("Location", "The URL of the upload."),)

Needs = Literal["own", "admin"]


class FileRoutes:
    """The routes of files at one place; whoever writes there `needs` that."""

    def __init__(self, home: Place, word: str, whose: str, needs: Needs) -> None:
        files = home.below("files")
        file = files.below("{file_id}", _FILE_ID)
        is_of_thread = "{thread_id}" in home.path
        refusals = _THREAD if is_of_thread else ()

        def route(name: str, method: Any, place: Place, text: str, answers: Any, *more: Any, **options: Any) -> Route:
            needed = (*refusals, *more)
            options["is_for_workflows"] = is_of_thread
            return Route(f"{word}{name}", method, place, text, answers, needed, **options)

        writes: dict[str, Any] = {"needs": needs, "is_for_shared": False}
        self.add = route(
            "_add",
            "POST",
            files,
            f"Upload a file of {whose}",
            _CREATED,
            *_NEW,
            **writes | {"parameters": (NAME,), "body": FileBody()},
        )
        self.fetch = route(
            "_fetch",
            "POST",
            files.below("fetch"),
            f"Have the app fetch a file of {whose} from an address",
            _CREATED,
            *_FETCHED,
            body=FETCH_BODY,
            **writes,
        )
        self.list = route(
            "s", "GET", files, f"List the files of {whose}", ok(FileList), *_ATTACHMENTS, parameters=(LIMIT, CURSOR)
        )
        self.read = route("", "GET", file, f"Read what is known of a file of {whose}", ok(ShownFile), *_ATTACHMENTS)
        self.content = route(
            "_content",
            "GET",
            file.below("content"),
            f"Download a file of {whose}, or some of it",
            _CONTENT,
            InvalidRangeError,
            *_ATTACHMENTS,
            parameters=(RANGE,),
        )
        self.delete = route(
            "_delete", "DELETE", file, f"Delete a file of {whose}", ok(ErasedFiles), *_REMOVED, **writes
        )
        self.all = (self.add, self.fetch, self.list, self.read, self.content, self.delete)


class UploadRoutes:
    """The routes of files that come in parts, at one place."""

    def __init__(self, home: Place, word: str, whose: str, needs: Needs, body: JsonBody, *more: Any) -> None:
        uploads = home.below("uploads")
        upload = uploads.below("{upload_id}", _UPLOAD_ID)

        def route(name: str, place: Place, text: str, answers: Any, *refusals: Any, body: Any = None) -> Route:
            needed = (*refusals, *_ATTACHMENTS)
            return Route(
                f"{word}{name}", "POST", place, text, answers, needed, body=body, needs=needs, is_for_workflows=False
            )

        new = (ResponseSpec(201, "The upload.", ShownUpload, _LOCATED),)
        self.begin = route(
            "_begin", uploads, f"Begin a file of {whose} that comes in parts", new, *more, *_NEW, body=body
        )
        part = (ResponseSpec(201, "The part.", ShownPart),)
        self.add = route(
            "_part",
            upload.below("parts"),
            "Send a part of the file",
            part,
            FileTooLargeError,
            UploadMismatchError,
            body=FileBody(),
        )
        self.complete = route(
            "_complete",
            upload.below("complete"),
            "Make the file of its parts",
            _CREATED,
            *more,
            UploadMismatchError,
            body=COMPLETION,
        )
        self.cancel = route("_cancel", upload.below("cancel"), "Give the upload up", ok(ShownUpload))
        self.all = (self.begin, self.add, self.complete, self.cancel)


OF_OWNER = FileRoutes(places.APP, "file", "yours", "own")
OF_AGENT = FileRoutes(places.AGENT, "agent_file", "the agent", "admin")
OF_THREAD = FileRoutes(places.THREAD, "thread_file", "a thread", "own")
ERASE_AGENT = Route(
    "agent_files_erase",
    "DELETE",
    places.AGENT.below("files"),
    "Delete all files of the agent",
    ok(ErasedFiles),
    _REMOVED,
    needs="admin",
    is_for_workflows=False,
)
BY_OWNER = UploadRoutes(
    places.APP, "upload", "yours", "own", NEW_UPLOAD, errors.UnknownAgentError, errors.UnknownThreadError
)
BY_AGENT = UploadRoutes(places.AGENT, "agent_upload", "the agent", "admin", NEW_AGENT_UPLOAD)
ROUTES = (*OF_OWNER.all, *OF_AGENT.all, *OF_THREAD.all, ERASE_AGENT, *BY_OWNER.all, *BY_AGENT.all)
