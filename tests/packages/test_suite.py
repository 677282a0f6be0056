"""The tests that run where the library is installed, and the list of those that do not."""

import re

import pytest

from packages.build import ROOT
from tests.support.tests_of_the_tree import OF_THE_TREE, OfTheTree, is_left_out

pytestmark = pytest.mark.behaviour("packages.suite")


@pytest.mark.parametrize("entry", OF_THE_TREE, ids=lambda entry: entry.tests)
def test_what_is_left_out_is_there(entry: OfTheTree) -> None:
    """A file or a folder, or a test of a file; and why it is of the tree."""
    name, _, test = entry.tests.partition("::")
    files = [path for path in ROOT.glob(name) if path.is_file()]
    pattern = re.compile(rf"^(?:async )?def {test.replace('*', '')}", re.MULTILINE)

    assert files != []
    assert entry.why.endswith(".")
    assert not test or pattern.search(files[0].read_text(encoding="utf-8"))


def test_what_the_app_does_for_its_callers_is_left_out_nowhere() -> None:
    """Whole rooms of the library, its stores and the kills among them."""
    rooms = (
        "agents",
        "azure",
        "behaviours",
        "conformance",
        "contracts",
        "devhost",
        "durable_streams",
        "mcp",
    )
    rooms += ("state", *(f"hosting/{path.name}" for path in (ROOT / "tests" / "hosting").iterdir() if path.is_dir()))
    files = [path for room in rooms for path in (ROOT / "tests" / room).rglob("test_*.py")]

    assert len(files) > 200
    assert [path.name for path in files if is_left_out(path.relative_to(ROOT).as_posix())] == []
