"""The handlers of the routes of files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from hosting.core.request.fields import read_text
from hosting.core.thread_log import ThreadLog
from hosting.errors import InvalidFieldError, UnknownAgentError, UnknownThreadError, UnsupportedMediaTypeError
from hosting.features.uploads.fetching import Fetching
from hosting.features.uploads.multipart import FileForm
from hosting.features.uploads.names import (
    OCTETS,
    disposition,
    read_media_type,
    read_name,
    read_range,
    served_type,
)
from hosting.features.uploads.records import Scope, UploadedFile
from hosting.features.uploads.refusals import (
    FileTooLargeError,
    InvalidRangeError,
    UnknownFileError,
    UnknownUploadError,
)
from hosting.features.uploads.routes import (
    BY_AGENT,
    BY_OWNER,
    COMPLETION,
    ERASE_AGENT,
    FETCH_BODY,
    LONGEST_MEDIA_TYPE,
    NEW_AGENT_UPLOAD,
    NEW_UPLOAD,
    OF_AGENT,
    OF_OWNER,
    OF_THREAD,
    ErasedFiles,
    FileList,
    FileRoutes,
    ShownFile,
    ShownPart,
    ShownQuota,
    ShownUpload,
    UploadRoutes,
)
from hosting.features.uploads.search.status import shown_index
from hosting.features.uploads.uploads import Erased, NewFile, Uploads
from hosting.http.parameters import read_cursor, read_limit
from hosting.http.replies import Reply, Streamed, json_reply, problem_reply, thread_headers
from hosting.http.request import Bound, HttpRequest
from hosting.http.run_call import JsonBody
from hosting.names import Address, check_thread_id
from hosting.ports import iso

FILE_FIELD = "file"
_OF_FILE = ("name", "media_type")
_FORM = "multipart/form-data"
_FORM_BYTES = 65_536
"""So much larger than its file a form may be."""

_LONGEST_LENGTH = 15


class FileHandlers:
    """The handlers of one app's files. A JSON body has `most_bytes` at most."""

    def __init__(self, uploads: Uploads, log: ThreadLog, most_bytes: int, fetching: Fetching) -> None:
        self._uploads, self._log, self._most_bytes, self._fetching = uploads, log, most_bytes, fetching

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        places = (OF_OWNER, OF_AGENT, OF_THREAD)
        uploads = ((BY_OWNER, NEW_UPLOAD), (BY_AGENT, NEW_AGENT_UPLOAD))
        return (
            *(bound for routes in places for bound in self._of_files(routes)),
            Bound(ERASE_AGENT, self._erase),
            *(bound for routes, body in uploads for bound in self._of_uploads(routes, body)),
        )

    def _of_files(self, routes: FileRoutes) -> Sequence[Bound]:
        return (
            Bound(routes.add, self._add),
            Bound(routes.fetch, self._fetch),
            Bound(routes.list, self._list),
            Bound(routes.read, self._read),
            Bound(routes.content, self._content),
            Bound(routes.delete, self._delete),
        )

    def _of_uploads(self, routes: UploadRoutes, body: JsonBody) -> Sequence[Bound]:
        return (
            Bound(routes.begin, partial(self._begin, body=body)),
            Bound(routes.add, self._add_part),
            Bound(routes.complete, self._complete),
            Bound(routes.cancel, self._cancel),
        )

    async def _scope(self, request: HttpRequest) -> Scope:
        """Return where the files are that the path names."""
        if "{thread_id}" in request.route.path or request.shared is not None:
            return await self._of_thread(request.address)
        if "name" in request.received.path_params:
            return Scope(request.agent.name.lower())
        return Scope(owner=request.caller.owner)

    async def _of_thread(self, address: Address) -> Scope:
        head = await self._log.head(address)
        if head.state != "open":
            raise UnknownThreadError(f"There is no thread {address.thread_id[:80]!r}. It was deleted.")
        return Scope.of_thread(address, head.epoch)

    async def _new_scope(self, request: HttpRequest) -> Scope:
        """Return where a new file is to be."""
        scope = await self._scope(request)
        if scope.thread_id:
            check_thread_id(scope.thread_id, request.agent.name, scope.owner, is_stored=True)
        return scope

    async def _add(self, request: HttpRequest) -> Reply:
        scope = await self._new_scope(request)
        new, body = await read_file(request, self._uploads.most_bytes)
        file = await self._uploads.store(scope, new, body, request.caller.client)
        return self._created(request, scope, file)

    async def _fetch(self, request: HttpRequest) -> Reply:
        fields = await request.parsed(lambda raw: FETCH_BODY.read(raw, self._most_bytes))
        url = read_text("url", fields.get("url"))
        name, media_type = (read_text(field, fields[field]) if field in fields else "" for field in _OF_FILE)
        if media_type and len(media_type) > LONGEST_MEDIA_TYPE:
            raise _too_long(media_type)
        self._fetching.check(url)
        scope = await self._new_scope(request)
        async with self._fetching.opened(url) as answer:
            where = "The field 'name'" if "name" in fields else "The name at the address's end"
            name = read_name(where, name if "name" in fields else answer.name)
            new = NewFile(name, read_media_type(media_type or answer.media_type, name), answer.size)
            file = await self._uploads.store(scope, new, answer.pieces, request.caller.client)
        return self._created(request, scope, file)

    async def _list(self, request: HttpRequest) -> Reply:
        scope, limit = await self._scope(request), read_limit(request.query)
        after = read_cursor(request.query) or ""
        files, cursor = await self._uploads.page(scope, after, limit, request.caller.client)
        body: FileList = {
            "files": [shown_file(self._url(request, scope), file) for file in files],
            "next_cursor": cursor or None,
        }
        if request.shared is None:
            body["quota"] = await self._quota(scope)
        return json_reply(200, body, _headers(scope))

    async def _quota(self, scope: Scope) -> ShownQuota:
        ledgers = self._uploads.ledgers
        sums = await ledgers.read(scope.account)
        return {
            "bytes": sums.bytes,
            "open_bytes": sum(sums.open.values()),
            "quota_bytes": ledgers.quota_bytes,
            "file_bytes": self._uploads.most_bytes,
        }

    async def _read(self, request: HttpRequest) -> Reply:
        scope, file = await self._file(request)
        return json_reply(200, shown_file(self._url(request, scope), file), _headers(scope))

    async def _content(self, request: HttpRequest) -> Reply | Streamed:
        scope, file = await self._file(request)
        return content_reply(self._uploads, scope, file, request.headers)

    async def _delete(self, request: HttpRequest) -> Reply:
        scope = await self._scope(request)
        return _erased(await self._uploads.delete(scope, request.id("file", UnknownFileError)), scope)

    async def _erase(self, request: HttpRequest) -> Reply:
        """Delete the files of an agent, also of one that the app had before."""
        try:
            agent = request.agent.name.lower()
        except UnknownAgentError:
            agent = request.received.path_params.get("name", "").lower()
            if agent not in await self._log.agents():
                raise
        return _erased(await self._uploads.erase(Scope(agent)), Scope(agent))

    async def _begin(self, request: HttpRequest, body: JsonBody) -> Reply:
        fields = await request.parsed(lambda raw: body.read(raw, self._most_bytes))
        scope = await self._scope(request)
        if "agent" in fields or "thread_id" in fields:
            agent = request.plan.served(read_text("agent", fields.get("agent")), of_thread=True).name
            thread_id = read_text("thread_id", fields.get("thread_id"))
            check_thread_id(thread_id, agent, request.caller.owner, is_stored=True)
            scope = await self._of_thread(Address.of(agent, thread_id, request.caller.owner))
        upload = await self._uploads.begin(scope, self._new_upload(fields))
        return json_reply(201, shown_upload(upload), {"location": f"{self._home(request)}/uploads/{upload.id}"})

    def _new_upload(self, fields: dict[str, Any]) -> NewFile:
        name = read_name("The field 'name'", read_text("name", fields.get("name")))
        media_type = read_text("media_type", fields["media_type"]) if "media_type" in fields else ""
        if len(media_type) > LONGEST_MEDIA_TYPE:
            raise _too_long(media_type)
        size = fields.get("bytes")
        if isinstance(size, float) and size.is_integer():  # to JSON 7.0 is the integer 7
            size = int(size)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise InvalidFieldError("The field 'bytes' must be how many bytes the whole file has.")
        return NewFile(name, read_media_type(media_type, name), _fitting(size, self._uploads.most_bytes))

    async def _add_part(self, request: HttpRequest) -> Reply:
        scope = await self._uploading(request)
        _, body = await read_file(request, self._uploads.most_bytes, is_named=False)
        part = await self._uploads.add_part(scope, self._upload_id(request), body)
        return json_reply(201, ShownPart(part_id=part.id, bytes=part.bytes))

    async def _complete(self, request: HttpRequest) -> Reply:
        fields = await request.parsed(lambda raw: COMPLETION.read(raw, self._most_bytes))
        part_ids = fields.get("part_ids")
        if not isinstance(part_ids, list) or not part_ids or not all(isinstance(id_, str) for id_ in part_ids):
            raise InvalidFieldError("The field 'part_ids' must be a list of the ids of parts, in their order.")
        md5 = read_text("md5", fields["md5"]) if "md5" in fields else None
        scope, upload_id = await self._uploading(request), self._upload_id(request)
        file = await self._uploads.complete(scope, upload_id, part_ids, md5, request.caller.client)
        return self._created(request, scope, file)

    async def _cancel(self, request: HttpRequest) -> Reply:
        scope = await self._uploading(request)
        return json_reply(200, shown_upload(await self._uploads.cancel(scope, self._upload_id(request))))

    async def _uploading(self, request: HttpRequest) -> Scope:
        """Return where the file will be that the upload in the path is for."""
        scope = await self._scope(request)
        return await self._uploads.scope_of(scope.account, self._upload_id(request)) or scope

    def _upload_id(self, request: HttpRequest) -> str:
        return request.id("upload", UnknownUploadError)

    async def _file(self, request: HttpRequest) -> tuple[Scope, UploadedFile]:
        scope = await self._scope(request)
        return scope, await self._uploads.read(scope, request.id("file", UnknownFileError))

    def _created(self, request: HttpRequest, scope: Scope, file: UploadedFile) -> Reply:
        url = self._url(request, scope)
        return json_reply(201, shown_file(url, file), {"location": f"{url}/{file.id}", **_headers(scope)})

    def _url(self, request: HttpRequest, scope: Scope) -> str:
        """Return where the caller finds the files of a scope."""
        if scope.thread_id:
            agent = request.plan.served(scope.agent, of_thread=True)
            return f"{request.thread_url(agent, scope.thread_id)}/files"
        return f"{self._home(request)}/files"

    def _home(self, request: HttpRequest) -> str:
        return request.agent_url if "name" in request.received.path_params else request.base_url


def content_reply(uploads: Uploads, scope: Scope, file: UploadedFile, asked: Mapping[str, str]) -> Reply | Streamed:
    """Return the bytes of a file, or those of the range that the headers ask for."""
    etag = f'"{file.sha256}"'
    wanted = None if asked.get("if-range", etag) != etag else asked.get("range")
    try:
        part = read_range(wanted, file.bytes)
    except InvalidRangeError as error:
        return problem_reply(error, "json", {"content-range": f"bytes */{file.bytes}"})
    start, end = part or (0, file.bytes)
    headers = {
        "content-length": str(end - start),
        "content-disposition": disposition(file.name),
        "content-security-policy": "sandbox",
        "x-content-type-options": "nosniff",
        "accept-ranges": "bytes",
        "etag": etag,
        **_headers(scope),
        **({} if part is None else {"content-range": f"bytes {start}-{end - 1}/{file.bytes}"}),
    }
    pieces = uploads.parts(scope, file, start, end)
    return Streamed(pieces, headers, served_type(file.media_type), 200 if part is None else 206)


def url_of(scope: Scope, workflows: Collection[str]) -> str:
    """Return where the files of a scope are, below the app's routes; `workflows` are the app's, in lower case."""
    if scope.thread_id:
        kind = "workflows" if scope.agent in workflows else "agents"
        return f"{kind}/{quote(scope.agent)}/threads/{quote(scope.thread_id, safe='@:')}/files"
    return f"agents/{quote(scope.agent)}/files" if scope.agent else "files"


def shown_file(url: str, file: UploadedFile) -> ShownFile:
    """Return a file as it is shown, whose list is at the URL."""
    shown: ShownFile = {
        "file_id": file.id,
        "name": file.name,
        "media_type": file.media_type,
        "bytes": file.bytes,
        "sha256": file.sha256,
        "created_at": iso(file.created_at),
        "content_url": f"{url}/{quote(file.id)}/content",
    }
    if (index := shown_index(file)) is not None:
        shown["index"] = index
    return shown


def shown_upload(upload: UploadedFile) -> ShownUpload:
    """Return an upload as it is shown."""
    return {
        "upload_id": upload.id,
        "name": upload.name,
        "media_type": upload.media_type,
        "bytes": upload.bytes,
        "created_at": iso(upload.created_at),
        "expires_at": iso(upload.expires_at or 0.0),
    }


async def read_file(
    request: HttpRequest, most_bytes: int, *, is_named: bool = True, field: str = FILE_FIELD
) -> tuple[NewFile, AsyncIterator[bytes]]:
    """Return the file of a request, and its bytes as they come. A part has no name of its own: it is not `is_named`.

    Raises `HostingError`s of `errors.REQUEST_ERRORS`, and `FileTooLargeError` where the request says that it is.
    """
    headers = request.headers
    if (coding := headers.get("content-encoding", "identity").strip().lower()) != "identity":
        raise UnsupportedMediaTypeError(f"The body has the Content-Encoding {coding[:80]!r}. Send it without.")
    given = headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() != _FORM:
        name = request.query.get("name")
        if is_named and name is None:
            raise InvalidFieldError("The query 'name' is missing. Send the file's name, or a form with the file.")
        name = read_name("The query 'name'", name or "") if is_named else ""
        size = length_of(headers, most_bytes, 0)
        return NewFile(name, read_media_type(given, name), size), request.chunks()
    size = length_of(headers, most_bytes)
    form = FileForm(headers, request.chunks(), field)
    await form.open()
    if "name" in request.query:
        name = read_name("The query 'name'", request.query["name"])
    else:
        name = read_name("The file's name in the form", form.file_name) if is_named else ""
    return NewFile(name, read_media_type(form.media_type or OCTETS, name), size), form.body()


def length_of(headers: Mapping[str, str], most_bytes: int, form_bytes: int = _FORM_BYTES) -> int | None:
    """Return how many bytes the file has at most by the request's length; None where that does not say it.

    The form around it may have `form_bytes`. Raises `FileTooLargeError`.
    """
    length = headers.get("content-length", "")
    if not length.isdecimal() or len(length) > _LONGEST_LENGTH:
        return None
    return min(_fitting(int(length), most_bytes + form_bytes), most_bytes)


def _too_long(media_type: str) -> InvalidFieldError:
    return InvalidFieldError(
        f"The field 'media_type' has {len(media_type)} characters. Send at most {LONGEST_MEDIA_TYPE}."
    )


def _fitting(size: int, most_bytes: int) -> int:
    """Return the bytes of a file; raises `FileTooLargeError` if it is too large."""
    if size > most_bytes:
        raise FileTooLargeError(f"The file has {size:,} bytes, and may have {most_bytes:,}. Send a smaller one.")
    return size


def _erased(erased: Erased, scope: Scope) -> Reply:
    fields = ErasedFiles(files=erased.files, bytes=erased.bytes, chunks=erased.chunks)
    return json_reply(200, fields, _headers(scope))


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers of an answer about a thread's files."""
    return thread_headers(scope.thread_id) if scope.thread_id else {}
