"""Every text that the app and the local host may print, log or return, as `python -m tests.support.messages` prints it.

To be read from top to bottom: a message is read by itself, by somebody who has not read the code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("agents", "devhost", "hosting", "state")
SOURCES = [ROOT / "dev.py", *(path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))]


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """Iterate over the texts of more than two words that are no docstring, each whole: `{}` stands for a value."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Expr):
            waiting += _parts(node.value)  # a text that stands alone is a docstring
            continue
        text = _text(node)
        if len(text.split()) > 2:
            yield getattr(node, "lineno", 0), text
        if not isinstance(node, ast.JoinedStr):
            waiting += _parts(node)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Iterate over the nodes of a node: in a third of the time of `ast.iter_child_nodes`."""
    for value in vars(node).values():
        if isinstance(value, ast.AST):
            yield value
        elif isinstance(value, list):
            yield from (part for part in value if isinstance(part, ast.AST))


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def main() -> None:
    """Print them by files."""
    for path in SOURCES:
        for number, (line, text) in enumerate(sorted(messages(path))):
            if not number:
                print(f"\n{path.relative_to(ROOT)}")
            print(f"{line:6}  {' '.join(text.split())}")


if __name__ == "__main__":
    main()
