"""How large a file and a function may be, and what a package's own file may hold."""

import ast

from tests.architecture.imports import ROOT, module_name, product_files, statements

MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 50
ENGINE = sorted(
    path for path in (ROOT / "devhost" / "durable").rglob("*.py") if not {"management", "grpc"} & {*path.parts}
)
LOCAL_HOST = sorted((ROOT / "devhost").rglob("*.py"))
MOST_LOCAL_HOST_FILES = 108
MOST_LOCAL_HOST_LINES = 15_850
MOST_ENGINE_FILES = 34
MOST_ENGINE_LINES = 6_170
LEAST_ENGINE_FILE_LINES = 40


def test_a_file_is_read_at_one_sitting() -> None:
    """A file that grows past this has more than one subject."""
    lines = {module_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in product_files()}

    assert {name: number for name, number in lines.items() if number > MOST_FILE_LINES} == {}


def test_a_function_fits_a_screen() -> None:
    """Measured from its `def` to its last line."""
    long = {
        f"{module_name(path)}.{node.name}": length
        for path in product_files()
        for node in statements(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MOST_FUNCTION_LINES
    }

    assert long == {}


def test_a_package_file_holds_only_its_docstring() -> None:
    """A name is imported from the module that owns it."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in product_files() if path.stem == "__init__"}

    assert len(trees) > 10
    assert [module_name(path) for path, tree in trees.items() if not ast.get_docstring(tree)] == []
    assert [module_name(path) for path, tree in trees.items() if len(tree.body) > 1] == []


def test_the_engine_of_the_local_host_is_read_in_few_files() -> None:
    """Each a subject: what changes together stands in one, and no file is there for a single function."""
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in ENGINE}
    small = [
        module_name(path) for path in ENGINE if path.name != "__init__.py" and lines[path] < LEAST_ENGINE_FILE_LINES
    ]

    assert small == []
    assert len(ENGINE) <= MOST_ENGINE_FILES
    assert sum(lines.values()) <= MOST_ENGINE_LINES


def test_the_local_host_grows_only_on_purpose() -> None:
    """Whoever adds a file or some hundred lines looks first for what they replace."""
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in LOCAL_HOST)

    assert len(LOCAL_HOST) <= MOST_LOCAL_HOST_FILES
    assert lines <= MOST_LOCAL_HOST_LINES
