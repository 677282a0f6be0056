"""One Python file of an app: what its top level has, and where a list, a call or the imports take one part more.

Theory. A part is put in at a position of the syntax tree; no other byte of the file changes. What is written in a way
that a reader of the tree cannot be sure of is refused: a list that is computed, or a name that has two values.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence

from packages.durable_agent_host.source_text import SourceText, UnreadableSourceError

OWN_PACKAGES = ("agents", "tools", "workflows", "schedules", "triggers", "durable_agent_host", "hosting")
"""Modules with which an import of the app's own stands together."""
_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


class UnknownShapeError(Exception):
    """A file is written in a way that cannot be changed; the message says which part of it."""


class Module(SourceText):
    """One file of an app, by its path below the app's folder."""

    def __init__(self, name: str, content: bytes) -> None:
        """Read the file's bytes; raises `UnknownShapeError`."""
        try:
            super().__init__(content)
        except UnreadableSourceError as error:
            raise UnknownShapeError(f"{name} is not readable Python: {error}") from None
        self.name, self.before = name, content

    def bound(self) -> Iterator[str]:
        """Iterate over the names that the top level binds; twice over a name that it binds twice."""
        for statement in self.tree.body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
            elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield statement.name
            else:
                stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
                yield from (node.id for node in stored if isinstance(node.ctx, ast.Store))

    def assigned(self) -> Iterator[tuple[str, ast.expr, ast.stmt]]:
        """Iterate over the assignments of the top level to one name: the name, the value and the statement."""
        for statement in self.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    yield name, value, statement
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    yield name, value, statement

    def calls(self) -> Iterator[ast.Call]:
        """Iterate over every call of the file."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))

    def add_to_list(self, call: ast.Call, option: str, position: int | None, text: str) -> None:
        """Add `text` to the list that a call has as an option, or give it the option with a list of this alone.

        `position` is that of the option among the arguments without names. Raises `UnknownShapeError`.
        """
        place = f"{self.name}:{call.lineno}"
        if any(isinstance(argument, ast.Starred) for argument in call.args) or len(call.args) > 2:
            raise UnknownShapeError(f"{place}: the arguments of this call are not known by their names")
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        value = given.get(option)
        if value is None and position is not None and position < len(call.args):
            value = call.args[position]
        if value is None and None in given:
            raise UnknownShapeError(f"{place}: `**` may give {option}")
        if value is None:
            opening = self.range(call.func)[1]
            self._add(opening, self.range(call)[1], [*call.args, *call.keywords], f"{option}=[{text}]")
            return
        written = self._list(value)
        if written is None:
            raise UnknownShapeError(f"{place}: {option} is not a list that is written there")
        start, end = self.range(written)
        self._add(start, end, written.elts, text)

    def _list(self, value: ast.expr) -> ast.List | None:
        """Return the list that an expression is, or that a name of the top level has as its one value."""
        if isinstance(value, ast.Name) and list(self.bound()).count(value.id) == 1:
            value = next((other for name, other, _ in self.assigned() if name == value.id), value)
        return value if isinstance(value, ast.List) else None

    def _add(self, start: int, end: int, parts: Sequence[ast.expr | ast.keyword], text: str) -> None:
        """Add `text` behind the last part between a bracket, from `start`, and the one that closes it before `end`."""
        segment = self.content[start:end].decode("utf-8")
        tokens = tokenize.generate_tokens(io.StringIO(segment).readline)
        last = [token for token in tokens if token.type not in _NO_CODE][-2]
        row, column = last.end
        lines = segment.splitlines(keepends=True)
        behind = start + len("".join([*lines[: row - 1], lines[row - 1][:column]]).encode("utf-8"))
        comma = "" if not parts or last.string == "," else ","
        closing = self.content.rfind(b"\n", start, end - 1) + 1
        if parts and closing and not self.content[closing : end - 1].strip():
            before = self.content[closing : end - 1].decode("utf-8")
            first = self._line_of(parts[0])
            if comma:
                self.put(behind, behind, comma)
            self.put(closing, closing, f"{first if first is not None else before + '    '}{text},{self.newline}")
        else:
            self.put(behind, behind, f"{comma}{' ' if parts else ''}{text}")

    def _line_of(self, part: ast.expr | ast.keyword) -> str | None:
        """Return the blanks with which a part's line begins, or None where something stands before it."""
        start = self.offset(part.lineno, 0)
        before = self.content[start : start + part.col_offset].decode("utf-8")
        return None if before.strip() else before

    def add_import(self, module: str, name: str) -> None:
        """Import a name, in order among the imports of the app's own modules, or behind the last import."""
        statement = f"from {module} import {name}{self.newline}"
        blocks = list(self._import_blocks())
        if not blocks:
            first = self.tree.body[0] if ast.get_docstring(self.tree) is not None else None
            start = self._behind(first) if first else 0
            self._insert(start, f"{self.newline if first else ''}{statement}{self.newline if not first else ''}")
            return
        own = (block for block in blocks if any(_top(node) in OWN_PACKAGES for node in block))
        block = next(own, blocks[-1])
        later = (node for node in block if isinstance(node, ast.ImportFrom) and (node.module or "") > module)
        following = next(later, None)
        self._insert(self._behind(block[-1]) if following is None else self.offset(following.lineno, 0), statement)

    def _import_blocks(self) -> Iterator[list[ast.Import | ast.ImportFrom]]:
        """Iterate over the imports of the top level, those that follow one another without a blank line together."""
        block: list[ast.Import | ast.ImportFrom] = []
        for node in self.tree.body:
            if not isinstance(node, ast.Import | ast.ImportFrom) or _top(node) == "__future__":
                continue
            if block and node.lineno > (block[-1].end_lineno or 0) + 1:
                yield block
                block = []
            block.append(node)
        if block:
            yield block

    def add_statement(self, after: ast.stmt, text: str) -> None:
        """Add a line behind a statement of the top level, and behind those that begin on its last line."""
        self._insert(self._behind(after), f"{text}{self.newline}")

    def _behind(self, statement: ast.stmt) -> int:
        """Return the byte at which the line behind a statement of the top level begins."""
        end = statement.end_lineno or statement.lineno
        for other in self.tree.body:
            if statement.lineno <= other.lineno <= end:
                end = max(end, other.end_lineno or end)
        return self.after_line(end)

    def _insert(self, start: int, text: str) -> None:
        is_open = start == len(self.content) and start and not self.content.endswith((b"\n", b"\r"))
        self.put(start, start, f"{self.newline if is_open else ''}{text}")


def _top(node: ast.Import | ast.ImportFrom) -> str:
    name = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
    return name.partition(".")[0]
