"""A chunk of a file's text, and the place in the file where a person finds it."""

from __future__ import annotations

from msgspec import Struct


class TextPlace(Struct, frozen=True):
    """Where in its file a chunk stands."""

    page: int | None = None
    """The page of a PDF, the slide or the sheet: from 1."""
    label: str = ""
    """The heading above it, or the name of the sheet."""
    start: int = 0
    """Characters of the whole extracted text before the chunk."""
    end: int = 0


class Chunk(Struct, frozen=True):
    """A part of a file's text, small enough for an embedding of its own."""

    number: int
    """From 0, in the order of the text."""
    text: str
    place: TextPlace
