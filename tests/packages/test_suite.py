"""The tests that run where the library is installed, and the list of those that do not."""

import re

import pytest

from packages.build import ROOT
from tests.support.tests_of_the_tree import OF_THE_TREE, OfTheTree

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
