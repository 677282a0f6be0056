"""What the product's modules import, read from their source without importing them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("agents", "benchmarks", "conformance", "devhost", "hosting", "state")
SCRIPTS = ("function_app.py", "dev.py")


def product_files() -> list[Path]:
    """Return every source file that is not a test."""
    packaged = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [*packaged, *(ROOT / script for script in SCRIPTS)]


def module_name(path: Path) -> str:
    """Return the dotted name of a source file; a package is named by its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the dotted names that a file imports, also inside functions and for type checking only.

    `from a.b import c` counts as `a.b`, or as `a.b.c` when that is a module of ours.
    """
    return frozenset(name for node in import_statements(path) for name in names_of(node))


@cache
def import_statements(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Return the imports of a file, also those inside functions and for type checking only; it is parsed once."""
    return tuple(node for node in statements(path) if isinstance(node, ast.Import | ast.ImportFrom))


def statements(path: Path) -> Iterator[ast.AST]:
    """Iterate over the statements of a file, also those within others: a tenth of all that `ast.walk` goes through."""
    found: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while found:
        node = found.pop()
        yield node
        for within in ("body", "orelse", "finalbody", "handlers", "cases"):
            parts = getattr(node, within, None)
            if isinstance(parts, list):  # a lambda has a body, too
                found += parts


def names_of(node: ast.AST) -> Iterator[str]:
    """Iterate over the dotted names that a statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from (_module_of(node.module, alias.name) for alias in node.names)


@cache
def _module_of(module: str, name: str) -> str:
    inner = f"{module}.{name}"
    return inner if (ROOT / (inner.replace(".", "/") + ".py")).exists() else module


@cache
def import_graph() -> dict[str, frozenset[str]]:
    """Return every product module with the product modules that it imports."""
    graph = {module_name(path): imports_of(path) for path in product_files()}
    return {module: imported & graph.keys() for module, imported in graph.items()}
