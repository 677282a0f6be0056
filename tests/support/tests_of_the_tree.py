"""A pytest plugin: which tests are left out where the library is installed (`python dev.py test --wheel`), and why.

They look at the tree itself, which the wheels' users do not have. All others run there, and nothing of the tree can be
imported: a run where it can is refused.
"""

from __future__ import annotations

import fnmatch
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from packages.build import NAMES


@dataclass(frozen=True)
class OfTheTree:
    """Tests whose ids match: a whole folder or file, or with `::` some of a file."""

    tests: str
    why: str


OF_THE_TREE: Sequence[OfTheTree] = (
    OfTheTree("tests/architecture/*", "They read the imports, names and sizes of the sources."),
    OfTheTree("tests/docs/*", "The pages are about the clone: its commands, its folders, its modules by their names."),
    OfTheTree("tests/packages/*", "They make wheels of the tree."),
    OfTheTree("tests/template/*", "They copy, start and deploy the clone; tests/packages has an app of the wheels."),
    OfTheTree("tests/samples/test_deploying_a_sample.py", "It deploys a clone with a sample for its app."),
    OfTheTree("tests/hosting/http/test_page.py::test_the_page_is_deployed_*", "As files of the app, in a clone."),
    OfTheTree(
        "tests/hosting/test_worker_logs.py::test_the_worker_of_python_3_13_*",
        "It makes an environment of its own, which has the tree on Python's path and no wheels.",
    ),
    OfTheTree("tests/faults/test_two_versions.py", "It makes an older version by a change of the sources."),
)


def is_tree(root: Path) -> bool:
    """Tell whether the packages stand beside the tests, as sources."""
    return (root / "hosting").is_dir()


def is_left_out(test: str) -> bool:
    """Tell whether a test or a file, by its id, is of the tree alone."""
    return any(fnmatch.fnmatchcase(test, entry.tests) for entry in OF_THE_TREE)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse to try wheels where the tree's packages can be imported too."""
    found = [name for name in NAMES if importlib.util.find_spec(name)]
    if found and not is_tree(session.config.rootpath):
        raise pytest.UsageError(f"{', '.join(found)} can be imported here, so this run would not try the wheels alone.")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave whole files unread."""
    if is_tree(config.rootpath) or not collection_path.is_relative_to(config.rootpath):
        return None
    return True if is_left_out(collection_path.relative_to(config.rootpath).as_posix()) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of files that have others."""
    if is_tree(config.rootpath):
        return
    left_out = [item for item in items if is_left_out(item.nodeid)]
    items[:] = [item for item in items if not is_left_out(item.nodeid)]
    config.hook.pytest_deselected(items=left_out)
