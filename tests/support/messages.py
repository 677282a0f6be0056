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
    tree = ast.parse(path.read_text(encoding="utf-8"))
    within = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in within:
            continue
        if isinstance(node, ast.JoinedStr):
            within |= {id(part) for part in ast.walk(node)}
        text = _text(node)
        if len(text.split()) > 2:
            yield getattr(node, "lineno", 0), text


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
