"""A Python file whose text is changed at the positions of its syntax tree, so that all else stays byte for byte."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import Any


class UnreadableSourceError(Exception):
    """The bytes are no Python; the message says why."""


class SourceText:
    """One module: its syntax tree, its bytes as `ast` counts them, and what is put in place of which of them."""

    def __init__(self, content: bytes) -> None:
        """Read a file's bytes; raises `UnreadableSourceError`."""
        try:
            self._encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
            text = content.decode(self._encoding)
            self.tree = ast.parse(text)
        except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError) as error:
            raise UnreadableSourceError(str(error)) from None
        self.content = text.encode("utf-8")
        self.newline = "\r\n" if b"\r\n" in self.content else "\n"
        self._starts = [0]
        for line in self.content.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._changes: list[tuple[int, int, str]] = []

    def changed(self) -> bytes:
        """Return the file's bytes with all changes, in the file's own encoding."""
        content = self.content
        for start, end, text in sorted(self._changes, reverse=True):
            content = content[:start] + text.encode("utf-8") + content[end:]
        return content.decode("utf-8").encode(self._encoding)

    def put(self, start: int, end: int, text: str) -> None:
        """Put `text` in place of the bytes from `start` to `end`."""
        self._changes.append((start, end, text))

    def put_node(self, node: ast.AST, text: str) -> None:
        """Put `text` in place of what a node of the tree is written as."""
        self.put(*self.range(node), text)

    def text(self, node: ast.AST) -> str:
        """Return what a node of the tree is written as."""
        start, end = self.range(node)
        return self.content[start:end].decode("utf-8")

    def range(self, node: Any) -> tuple[int, int]:
        """Return the first byte of a node, and the byte behind its last."""
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def offset(self, line: int, column: int) -> int:
        """Return the byte at a place as `ast` counts: lines from 1, columns in bytes from 0."""
        return self._starts[line - 1] + column

    def after_line(self, line: int) -> int:
        """Return the byte at which the next line begins; the end of the file behind its last line."""
        return self._starts[min(line, len(self._starts) - 1)]

    def line_after(self, line: int) -> int:
        """Return where a line stands in what was changed."""
        before = [change for change in self._changes if change[1] <= self._starts[line - 1]]
        return line + sum(text.count("\n") - self.content[start:end].count(b"\n") for start, end, text in before)
