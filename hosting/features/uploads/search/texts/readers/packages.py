"""The zip of an Office file: its parts and their relations, unpacked as a stream, up to so many bytes."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, BinaryIO
from xml.parsers import expat

from msgspec import Struct

from hosting.features.uploads.search.texts.refusals import (
    DAMAGED,
    ENCRYPTED,
    EXPANDS,
    FORBIDDEN_XML,
    UnreadableFileError,
)

_READ_BYTES = 1 << 16
_IS_ENCRYPTED = 1
_ROOT = "_rels/.rels"
_MOST_PACKAGE_BYTES = 4 << 20
"""Of a part that says what the package has."""

RELATION_ID = "r:id"
"""The key of the attribute that refers to a part, however its namespace is written."""
Attributes = Mapping[str, str]
"""By local name, but for `RELATION_ID`."""
Started = Callable[[str, Attributes], None]
"""Called with the local name of an element: a prefix and its namespace may be any."""


class Handlers(Struct, frozen=True):
    """What is called while a part is read."""

    start: Started
    end: Callable[[str], None] = lambda name: None
    text: Callable[[str], None] | None = None


class Unpacking:
    """The bytes that may still be unpacked of one file."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes

    def spend(self, spent: int) -> None:
        """Raise `UnreadableFileError` when more was unpacked than allowed."""
        self._left -= spent
        if self._left < 0:
            raise UnreadableFileError.of(EXPANDS)


@contextmanager
def opened(file: BinaryIO) -> Iterator[zipfile.ZipFile]:
    """Give the package; what zipfile and zlib raise meanwhile becomes an `UnreadableFileError`."""
    try:
        with zipfile.ZipFile(file) as package:
            if any(part.flag_bits & _IS_ENCRYPTED for part in package.infolist()):
                raise UnreadableFileError.of(ENCRYPTED)
            yield package
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError, RuntimeError):
        raise UnreadableFileError.of(DAMAGED) from None


def main_part(package: zipfile.ZipFile) -> str:
    """Return the part that the package is about, as `word/document.xml`; "" if it names none."""
    targets = related(package, "", Unpacking(_MOST_PACKAGE_BYTES))
    return next((target for kind, target in targets.values() if kind == "officeDocument"), "")


def related(package: zipfile.ZipFile, part: str, unpacking: Unpacking) -> dict[str, tuple[str, str]]:
    """Return the kind and the path of each part that a part refers to, by the reference's id; none outside of it."""
    folder, name = posixpath.split(part)
    relations: dict[str, tuple[str, str]] = {}

    def start(element: str, attributes: Attributes) -> None:
        if element == "Relationship" and attributes.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", "")))
            kind = attributes.get("Type", "").rpartition("/")[2]
            relations[attributes.get("Id", "")] = kind, target.lstrip("/")

    path = posixpath.join(folder, "_rels", f"{name}.rels") if part else _ROOT
    for _ in read_xml(package, path, Handlers(start), unpacking):
        pass
    return relations


def read_xml(package: zipfile.ZipFile, path: str, handlers: Handlers, unpacking: Unpacking) -> Iterator[None]:
    """Read a part as a stream, and yield after each block of it; nothing for a part that is not there.

    A document type is refused where it begins, so no entity is ever declared, expanded or fetched.
    """
    try:
        part = package.open(path)
    except KeyError:
        return
    parser = _parser(handlers)
    with part:
        try:
            for block in _blocks(part, unpacking):
                parser.Parse(block, False)
                yield
            parser.Parse(b"", True)
            yield
        except expat.ExpatError:
            raise UnreadableFileError.of(DAMAGED) from None


def _blocks(part: IO[bytes], unpacking: Unpacking) -> Iterator[bytes]:
    while block := part.read(_READ_BYTES):
        unpacking.spend(len(block))
        yield block


def _parser(handlers: Handlers) -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        handlers.start(_local(name), {_attribute(key): value for key, value in attributes.items()})

    def refuse(*_: object) -> None:
        raise UnreadableFileError.of(FORBIDDEN_XML)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: handlers.end(_local(name))
    parser.CharacterDataHandler = handlers.text
    parser.StartDoctypeDeclHandler = refuse
    return parser


def _attribute(name: str) -> str:
    return RELATION_ID if name.endswith("/relationships id") else _local(name)


def _local(name: str) -> str:
    return name.rpartition(" ")[2]
