"""A file in a form (`multipart/form-data`), read as it comes: no process holds it whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from python_multipart import MultipartParser
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import parse_options_header

from hosting.errors import InvalidBodyError, InvalidFieldError

MOST_FIELD_BYTES = 4096
MOST_FIELDS = 16


class FileForm:
    """A form with one file, of the field `file_field`, among texts of the other `known` fields.

    `open` reads up to the file, whose bytes `body` yields then. After that `fields` has what stood behind it too.
    """

    def __init__(self, headers: Mapping[str, str], chunks: AsyncIterator[bytes], field: str, *known: str) -> None:
        """Raises `InvalidBodyError` for a form without a boundary."""
        _, parameters = parse_options_header(headers.get("content-type", ""))
        boundary = parameters.get(b"boundary", b"")
        if not boundary:
            raise InvalidBodyError("The form has no boundary. Let your HTTP client write the Content-Type header.")
        self.fields: dict[str, str] = {}
        self.file_name = self.media_type = ""
        self._chunks, self._field, self._known = chunks, field, known
        self._parts = _Parts(boundary)
        self._has_file = False

    async def open(self) -> None:
        """Read up to the file. Raises `InvalidBodyError` and `InvalidFieldError`, also where there is none."""
        while not self._has_file:
            if not await self._more():
                raise InvalidBodyError(f"The form has no file. Send it in the field {self._field!r}.")

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the file. Raises as `open`, also for a form that ends too soon."""
        while True:
            if piece := self._parts.taken():
                yield piece
            if not await self._more():
                break
        if piece := self._parts.taken():
            yield piece
        if not self._parts.is_whole:
            raise InvalidBodyError("The form ends too soon. Send it again.")

    async def _more(self) -> bool:
        """Read a chunk; return whether there was one."""
        async for chunk in self._chunks:
            self._parts.feed(chunk)
            for name, file_name, media_type, text in self._parts.begun():
                self._add(name, file_name, media_type, text)
            return True
        return False

    def _add(self, name: str, file_name: str | None, media_type: str, text: str) -> None:
        if file_name is None:
            if name not in self._known or name in self.fields:
                raise InvalidFieldError(
                    f"The form has the field {name[:80]!r}, or has it twice. Send {self._field!r}"
                    f"{''.join(f', {known!r}' for known in self._known)}."
                )
            self.fields[name] = text
        elif name != self._field or self._has_file:
            raise InvalidFieldError(f"The form has a file {name[:80]!r}. Send one, in the field {self._field!r}.")
        else:
            self._has_file, self.file_name, self.media_type = True, file_name, media_type


class _Parts:
    """The parts of a form, as far as it has come: fields with their texts, and the bytes of a file."""

    def __init__(self, boundary: bytes) -> None:
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin,
                    "on_part_data": self._take,
                    "on_part_end": self._end,
                    "on_header_field": self._take_name,
                    "on_header_value": self._take_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._begin_body,
                    "on_end": self._end_all,
                },
            )
        except MultipartParseError as error:
            raise InvalidBodyError("The form's boundary cannot be read. Let your HTTP client write it.") from error
        self.is_whole = False
        self._begun: list[tuple[str, str | None, str, str]] = []
        self._count = 0
        self._body: list[bytes] = []
        self._begin()

    def feed(self, chunk: bytes) -> None:
        """Read on. Raises `InvalidBodyError` and `InvalidFieldError`."""
        try:
            self._parser.write(chunk)
        except MultipartParseError as error:
            raise InvalidBodyError("The body is not a form. Send multipart/form-data with its boundary.") from error

    def begun(self) -> list[tuple[str, str | None, str, str]]:
        """Return what has come since the last call: names, file names, media types, and the texts of fields."""
        begun, self._begun = self._begun, []
        return begun

    def taken(self) -> bytes:
        """Return the bytes of files that have come since the last call."""
        body, self._body = b"".join(self._body), []
        return body

    def _begin(self) -> None:
        self._header_name, self._header_value, self._header_bytes = b"", b"", 0
        self._headers: dict[bytes, bytes] = {}
        self._name, self._text = "", b""
        self._file_name: str | None = None

    def _take_name(self, data: bytes, start: int, end: int) -> None:
        self._count_header(end - start)
        self._header_name += data[start:end]

    def _take_value(self, data: bytes, start: int, end: int) -> None:
        self._count_header(end - start)
        self._header_value += data[start:end]

    def _count_header(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > MOST_FIELD_BYTES:
            raise InvalidBodyError(f"A part of the form has more than {MOST_FIELD_BYTES:,} bytes of headers.")

    def _end_header(self) -> None:
        self._headers[self._header_name.lower()] = self._header_value
        self._header_name, self._header_value = b"", b""

    def _begin_body(self) -> None:
        self._count += 1
        if self._count > MOST_FIELDS:
            raise InvalidBodyError(f"The form has more than {MOST_FIELDS} parts. Send the file and its fields alone.")
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._name = _text(options.get(b"name", b""))
        file_name = options.get(b"filename")
        self._file_name = None if file_name is None else _text(file_name)
        if self._file_name is not None:
            media_type = _text(self._headers.get(b"content-type", b""))
            self._begun.append((self._name, self._file_name, media_type, ""))

    def _take(self, data: bytes, start: int, end: int) -> None:
        if self._file_name is not None:
            self._body.append(data[start:end])
            return
        self._text += data[start:end]
        if len(self._text) > MOST_FIELD_BYTES:
            raise InvalidFieldError(f"The form's field {self._name[:80]!r} has more than {MOST_FIELD_BYTES:,} bytes.")

    def _end(self) -> None:
        if self._file_name is None:
            self._begun.append((self._name, None, "", _text(self._text)))

    def _end_all(self) -> None:
        self.is_whole = True


def _text(value: bytes) -> str:
    """Return a text of the form; raises `InvalidFieldError` where it is not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise InvalidFieldError("A name or a field of the form is not UTF-8. Send UTF-8.") from error
