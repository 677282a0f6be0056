"""How far a feature reaches into files that are not its own, and how large the core is: both only fall.

A figure that has become smaller is set to what it is now, so that it never rises again.
"""

import re

import pytest

from tests.architecture.house import CORE
from tests.architecture.imports import code_lines, import_graph

CORE_LINES = 16_315
"""Without blank lines, comments and docstrings."""

FEATURES = {
    "schedules": (r"schedules?|schedule_\w+", 8),
    "memory": (r"memor(?:y|ies)|memory_\w+|embeddings", 5),
    "webhooks": (r"webhooks?|webhook_\w+|deliver(?:y|ies)|push_configs", 17),
    "callbacks": (r"callbacks?|callback_\w+", 8),
    "owners": (r"owners|owner_(?:bodies|routes|triggers|call)|sharing|bearer", 9),
    "budgets and limits": (r"budgets|budgeting|limits|limiting|spending|owner_(?:days|minutes)", 9),
    "overview": (r"overview|overview_\w+|figures", 10),
    "operations": (r"operations|operators_view", 2),
    "approvals": (r"approvals", 1),
    "forks": (r"forking|fork_call", 5),
    "workflows": (r"workflows|workflow_\w+", 12),
    "mcp": (r"mcp", 1),
}
"""The names of a feature's own modules, and how many other modules of `hosting` import one of them."""


def own_modules(names: str) -> set[str]:
    """Return the feature's modules, by the last part of their names; stores have names that are their backends'."""
    own = re.compile(names)
    modules = (module for module in import_graph() if module.startswith("hosting."))
    return {module for module in modules if ".stores." not in module and own.fullmatch(module.rpartition(".")[2])}


@pytest.mark.parametrize("feature", FEATURES)
def test_no_more_files_name_a_feature(feature: str) -> None:
    """What a reader opens to change a feature, besides its own files."""
    names, known = FEATURES[feature]
    own = own_modules(names)

    naming = sorted(
        module
        for module, imported in import_graph().items()
        if module.startswith("hosting.") and module not in own and imported & own
    )

    assert own, "the feature has no modules of these names"
    assert len(naming) == known, f"set it to {len(naming)} if that is less; these name it: {naming}"


def test_the_core_does_not_grow() -> None:
    """One durable thread, and its runs: all that every feature stands on."""
    lines = sum(code_lines(path) for path in CORE.folder.rglob("*.py"))

    assert lines <= CORE_LINES, (
        f"the core has {lines} lines of code: look first for the lines that the new ones replace"
    )
