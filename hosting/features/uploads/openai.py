"""Files and uploads as OpenAI's clients have them (`client.files`, `client.uploads`), and files that a message names.

Their files are the caller's own. An upload's id is that of its file.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from msgspec.structs import replace

from hosting.core.request.fields import read_text
from hosting.errors import BodyTooLargeError, ContentTooLargeError, HostingError, InvalidFieldError
from hosting.features.uploads import openai_routes as routes
from hosting.features.uploads.http import content_reply, length_of, read_file
from hosting.features.uploads.multipart import FileForm
from hosting.features.uploads.names import read_media_type, read_name
from hosting.features.uploads.records import Scope, UploadedFile
from hosting.features.uploads.refusals import UnknownFileError, UnknownUploadError
from hosting.features.uploads.search.status import shown_index
from hosting.features.uploads.uploads import NewFile, Uploads
from hosting.http.replies import Reply, Streamed, json_reply
from hosting.http.request import HttpRequest
from hosting.http.route import Route
from hosting.http.run_call import RawRequest
from hosting.http.wire_openai import NotServedError
from hosting.http.wire_requests import object_fields, path_parts
from hosting.settings import Settings
from hosting.strict_json.parsing import parse_json

_FILE_ID = re.compile(f"{routes.FILE_PREFIX}([0-9a-f]{{32}})")
_UPLOAD_ID = re.compile(f"{routes.UPLOAD_PREFIX}([0-9a-f]{{32}})")
_PART_ID = re.compile(f"{routes.PART_PREFIX}([0-9a-f]{{12}})")
_IDS = {"file": _FILE_ID, "upload": _UPLOAD_ID, "part": _PART_ID}
_PURPOSES = ("assistants", "batch", "evals", "fine-tune", "user_data", "vision")
_DEFAULT_PURPOSE = "user_data"
_NAMED = b'"file_id"'
_MOST_LISTED = 10_000
_NUMBER = re.compile("[0-9]{1,5}")

_Verb = Callable[[HttpRequest, str], Awaitable[Reply | Streamed]]


class OpenAiFiles:
    """The operations on files and uploads of one app, and the files in its messages."""

    def __init__(self, uploads: Uploads, settings: Settings) -> None:
        self._uploads, self._settings = uploads, settings
        self._verbs: Mapping[Route, _Verb] = {
            routes.CREATE: self._create,
            routes.LIST: self._list,
            routes.READ: self._read,
            routes.CONTENT: self._content,
            routes.DELETE: self._delete,
            routes.BEGIN: self._begin,
            routes.ADD_PART: self._add_part,
            routes.COMPLETE: self._complete,
            routes.CANCEL: self._cancel,
        }

    async def reply(self, request: HttpRequest, path: str) -> Reply | Streamed:
        """Return the answer of an operation; raises its refusals."""
        parts = path_parts(request.route, path) or {}
        return await self._verbs[request.route](request, parts.get("file", parts.get("upload", "")))

    async def inlined(self, request: HttpRequest) -> HttpRequest:
        """Return a request with the contents of the files that it names by id, if they are files of this app.

        Raises `ContentTooLargeError` for one that is larger than a message may have, and `BodyTooLargeError` as soon as
        all of them are more than a request may have: a body may name the same file many times.
        """
        body, most = await request.received.body(), self._settings.max_body_bytes
        if _NAMED not in body or len(body) > most:  # whoever reads the request says so
            return request
        try:
            fields = parse_json(body)
        except HostingError:  # whoever reads the request says so
            return request
        agent = fields.get("model") if isinstance(fields, dict) else None
        scopes = [Scope(owner=request.caller.owner)]
        if isinstance(agent, str) and request.plan.find(agent) is not None:
            scopes.append(Scope(agent.lower()))
        size = 0
        for part in _parts_with_files(fields):
            size += await self._inline(part, scopes)
            if size > most:
                raise BodyTooLargeError(
                    f"The files that the request names have more than {most:,} bytes together, which is the most of a "
                    "request. Name fewer, or let the agent search them."
                )
        if not size:
            return request
        changed = json.dumps(fields, ensure_ascii=False).encode()

        async def read() -> bytes:
            return changed

        return replace(request, received=replace(request.received, body=read))

    async def _inline(self, part: dict[str, Any], scopes: list[Scope]) -> int:
        """Put the content of a file into a part that names it; return its bytes there, 0 for no file of this app."""
        match = _FILE_ID.fullmatch(str(part.get("file_id")))
        file, scope = None, scopes[0]
        for scope in scopes if match else ():
            file = await self._uploads.find(scope, match[1] if match else "")
            if file is not None:
                break
        if file is None:
            return 0
        most = self._settings.max_data_bytes
        if file.bytes * 4 // 3 > most:
            raise ContentTooLargeError(
                f"The file {file.id} has {file.bytes:,} bytes, and a message takes {most * 3 // 4:,}. "
                "Let the agent search it instead."
            )
        async with aclosing(self._uploads.parts(scope, file)) as pieces:
            content = b"".join([piece async for piece in pieces])
        uri = f"data:{file.media_type};base64,{base64.b64encode(content).decode()}"
        del part["file_id"]
        part.update({"image_url": uri} if part.get("type") == "input_image" else {"file_data": uri})
        if "file_data" in part:
            part.setdefault("filename", file.name)
        return len(uri)

    async def _create(self, request: HttpRequest, _: str) -> Reply:
        form = FileForm(request.headers, request.chunks(), "file", "purpose")
        await form.open()
        name = read_name("The file's name in the form", form.file_name)
        _check_purpose(form.fields)
        size = length_of(request.headers, self._uploads.most_bytes)
        new = NewFile(name, read_media_type(form.media_type, name), size, form.fields.get("purpose", ""))
        scope = Scope(owner=request.caller.owner)
        file = await self._uploads.store(scope, new, form.body(), request.caller.client)
        if purpose := form.fields.get("purpose", ""):  # clients may send it behind the file
            file = await self._with_purpose(scope, file, purpose)
        return json_reply(200, file_object(file))

    async def _with_purpose(self, scope: Scope, file: UploadedFile, purpose: str) -> UploadedFile:
        """Return the file with its purpose; of one that is none there is no file."""
        if file.purpose == purpose:
            return file
        try:
            _check_purpose({"purpose": purpose})
        except NotServedError:
            await self._uploads.delete(scope, file.id)
            raise
        return await self._uploads.change(scope, file.id, lambda stored: stored.model_copy(update={"purpose": purpose}))

    async def _list(self, request: HttpRequest, _: str) -> Reply:
        query = request.query
        limit, order, after = query.get("limit", str(_MOST_LISTED)), query.get("order", "desc"), query.get("after")
        if not _NUMBER.fullmatch(limit) or not 1 <= int(limit) <= _MOST_LISTED:
            raise InvalidFieldError(f"The query 'limit' is {limit[:80]!r}. Send 1 to {_MOST_LISTED:,}.")
        if order not in ("asc", "desc"):
            raise InvalidFieldError(f"The query 'order' is {order[:80]!r}. Send 'asc' or 'desc'.")
        files = await self._uploads.files(Scope(owner=request.caller.owner), request.caller.client)
        listed = [file_object(file) for file in (files if order == "asc" else reversed(files))]
        if "purpose" in query:
            listed = [file for file in listed if file["purpose"] == query["purpose"]]
        ids = [file["id"] for file in listed]
        if after is not None:
            if after not in ids:
                raise UnknownFileError(f"There is no file {after[:80]!r} in the list. Send the id of one as 'after'.")
            listed = listed[ids.index(after) + 1 :]
        data = listed[: int(limit)]
        ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {"first_id": None, "last_id": None}
        return json_reply(200, {"object": "list", "data": data, **ends, "has_more": len(listed) > len(data)})

    async def _read(self, request: HttpRequest, file_id: str) -> Reply:
        return json_reply(200, file_object(await self._file(request, file_id)))

    async def _content(self, request: HttpRequest, file_id: str) -> Reply | Streamed:
        file = await self._file(request, file_id)
        return content_reply(self._uploads, Scope(owner=request.caller.owner), file, request.headers)

    async def _delete(self, request: HttpRequest, file_id: str) -> Reply:
        file = await self._file(request, file_id)
        await self._uploads.delete(Scope(owner=request.caller.owner), file.id)
        return json_reply(200, {"id": file_id, "object": "file", "deleted": True})

    async def _file(self, request: HttpRequest, file_id: str) -> UploadedFile:
        match = _FILE_ID.fullmatch(file_id)
        file = await self._uploads.find(Scope(owner=request.caller.owner), match[1]) if match else None
        if file is None:
            raise UnknownFileError(f"There is no file {file_id[:80]!r}.")
        return file

    async def _begin(self, request: HttpRequest, _: str) -> Reply:
        known = {"filename", "purpose", "bytes", "mime_type", "expires_after"}
        fields = await self._fields(request, known)
        if fields.get("expires_after") is not None:
            raise NotServedError("Files do not expire by themselves. Leave 'expires_after' out.", "expires_after")
        _check_purpose(fields)
        name, size = (
            read_name("The field 'filename'", read_text("filename", fields.get("filename"))),
            fields.get("bytes"),
        )
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= self._uploads.most_bytes:
            raise InvalidFieldError(
                f"The field 'bytes' must be 1 to {self._uploads.most_bytes:,}: all bytes of the file."
            )
        media_type = read_media_type(read_text("mime_type", fields.get("mime_type")), name)
        new = NewFile(name, media_type, size, fields.get("purpose") or _DEFAULT_PURPOSE)
        upload = await self._uploads.begin(Scope(owner=request.caller.owner), new)
        return json_reply(200, upload_object(upload, "pending"))

    async def _add_part(self, request: HttpRequest, upload_id: str) -> Reply:
        _, body = await read_file(request, self._uploads.most_bytes, is_named=False, field="data")
        part = await self._uploads.add_part(Scope(owner=request.caller.owner), own_id("upload", upload_id), body)
        shown = {"id": f"{routes.PART_PREFIX}{part.id}", "object": "upload.part", "upload_id": upload_id}
        return json_reply(200, {**shown, "created_at": int(self._uploads.now())})

    async def _complete(self, request: HttpRequest, upload_id: str) -> Reply:
        fields = await self._fields(request, {"part_ids", "md5"})
        part_ids, md5 = fields.get("part_ids"), fields.get("md5")
        if not isinstance(part_ids, list) or not part_ids or not all(isinstance(id_, str) for id_ in part_ids):
            raise InvalidFieldError("The field 'part_ids' must be a list of the ids of parts, in their order.")
        parts = [match[1] if (match := _PART_ID.fullmatch(part_id)) else part_id for part_id in part_ids]
        checksum = None if md5 is None else read_text("md5", md5)
        scope, id_ = Scope(owner=request.caller.owner), own_id("upload", upload_id)
        file = await self._uploads.complete(scope, id_, parts, checksum, request.caller.client)
        return json_reply(200, {**upload_object(file, "completed"), "file": file_object(file)})

    async def _cancel(self, request: HttpRequest, upload_id: str) -> Reply:
        upload = await self._uploads.cancel(Scope(owner=request.caller.owner), own_id("upload", upload_id))
        return json_reply(200, upload_object(upload, "cancelled"))

    async def _fields(self, request: HttpRequest, known: set[str]) -> dict[str, Any]:
        def read(raw: RawRequest) -> dict[str, Any]:
            return object_fields(raw, known, self._settings.max_body_bytes)

        return await request.parsed(read)


def file_object(file: UploadedFile) -> dict[str, Any]:
    """Return a file as the protocol has it."""
    index = shown_index(file)
    far = "ready" if index is None else index["status"]
    return {
        "id": f"{routes.FILE_PREFIX}{file.id}",
        "object": "file",
        "bytes": file.bytes,
        "created_at": int(file.created_at),
        "expires_at": None,
        "filename": file.name,
        "purpose": file.purpose or _DEFAULT_PURPOSE,
        "status": {"ready": "processed", "failed": "error"}.get(far, "uploaded"),
        "status_details": None if index is None else index.get("error"),
    }


def upload_object(upload: UploadedFile, status: str) -> dict[str, Any]:
    """Return an upload as the protocol has it."""
    return {
        "id": f"{routes.UPLOAD_PREFIX}{upload.id}",
        "object": "upload",
        "bytes": upload.bytes,
        "created_at": int(upload.created_at),
        "expires_at": int(upload.expires_at or upload.created_at),
        "filename": upload.name,
        "purpose": upload.purpose or _DEFAULT_PURPOSE,
        "status": status,
        "file": None,
    }


def own_id(kind: str, given: str) -> str:
    """Return the app's own id in one of a `file`, an `upload` or a `part`; raises `UnknownUploadError`."""
    match = _IDS[kind].fullmatch(given)
    if match is None:
        raise UnknownUploadError(f"There is no {kind} {given[:80]!r}.")
    return match[1]


def _check_purpose(fields: Mapping[str, Any]) -> None:
    purpose = fields.get("purpose")
    if purpose is not None and purpose not in _PURPOSES:
        raise NotServedError(
            f"The purpose {str(purpose)[:80]!r} is none. Send one of {', '.join(_PURPOSES)}.", "purpose"
        )


def _parts_with_files(fields: object) -> Iterator[dict[str, Any]]:
    """Yield the parts of messages that name a file: of Responses, and of chat completions."""
    messages = (fields.get("input") or fields.get("messages")) if isinstance(fields, dict) else None
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else ():
            for place in (part, part.get("file")) if isinstance(part, dict) else ():
                if isinstance(place, dict) and isinstance(place.get("file_id"), str):
                    yield place
