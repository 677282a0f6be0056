"""A pytest plugin: what is chosen at random is the same in each run, unless the run explores.

The gate throws no dice: two runs of one commit try the same examples, so what fails was changed, or is unsteady.
`python dev.py test --explore` looks for more: a new seed, which the run says and `--seed N` repeats, and more examples
of those tests that choose at random. What it finds becomes an example of a test.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence

import pytest
from hypothesis import settings, strategies
from hypothesis.internal.conjecture import engine, providers

EXPLORES = "AGENTS_TEST_EXPLORE"
IS_EXPLORING = EXPLORES in os.environ
"""Whether this run explores; a variable, because it also decides how often decorators of tests repeat them."""
SEED = 1
"""What the gate chooses by."""
SHRINKING_SECONDS = 60
"""Hypothesis makes an example smaller for so long; by itself it would take as long as a test may."""
MORE = 10
"""Hypothesis tries so many times the examples when a run explores."""


def repeated(in_the_gate: int, exploring: int) -> int:
    """Return how often a test tries something at random."""
    return exploring if IS_EXPLORING else in_the_gate


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run be repeated."""
    parser.addoption("--seed", type=int, default=None, help="choose at random as the run did that said this seed")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed, in the process that controls workers before they start, and give it to hypothesis.

    Hypothesis derives what the gate tries from each test's own code. How long one example may take is no matter of a
    test, and how long a found one is made smaller must end before the time of a test does.
    """
    engine.MAX_SHRINKING_SECONDS = SHRINKING_SECONDS
    config.addinivalue_line("markers", "explore: too long for the gate; run by `python dev.py test --explore`")
    is_chosen = config.option.seed is not None
    if not is_chosen:
        config.option.seed = secrets.randbits(32) if IS_EXPLORING else SEED
    if IS_EXPLORING or is_chosen:
        if getattr(config.option, "hypothesis_seed", None) is None:
            config.option.hypothesis_seed = str(config.option.seed)
    else:
        forget_what_is_imported()
    default = settings.get_profile("default")
    profile = settings(
        default,
        max_examples=repeated(default.max_examples, MORE * default.max_examples),
        database=None,
        print_blob=True,
        derandomize=not (IS_EXPLORING or is_chosen),
        deadline=None,
    )
    settings.register_profile("this run", profile)
    settings.load_profile("this run")


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Make the table of all characters while the test processes read the tests: each would take 2.5 s for it."""
    if getattr(session.config.option, "numprocesses", None):
        strategies.text().validate()


def forget_what_is_imported() -> None:
    """Let Hypothesis choose without the numbers and texts of modules that happen to be imported.

    It takes such from every module of ours that this process has imported so far. With several processes that is
    another set each time, and so would be what the same test tries.
    """
    providers._get_local_constants = lambda: providers._local_constants


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to a run that explores what chooses at random or is too long for the gate, and keep the latter from it."""
    left_out = [item for item in items if not (chooses(item) if IS_EXPLORING else is_short(item))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        dropped = set(left_out)
        items[:] = [item for item in items if item not in dropped]


def chooses(item: pytest.Item) -> bool:
    """Return whether a test does something else with another seed, or only explores."""
    fixtures: Sequence[str] = getattr(item, "fixturenames", ())
    is_given = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return is_given or "seed" in fixtures or not is_short(item)


def is_short(item: pytest.Item) -> bool:
    """Return whether the gate runs a test."""
    return item.get_closest_marker("explore") is None


@pytest.fixture
def seed(pytestconfig: pytest.Config) -> int:
    """The run's seed, for a test that chooses by it."""
    number = int(pytestconfig.option.seed)
    print(_text(number))
    return number


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say the seed."""
    terminalreporter.write_line(_text(config.option.seed))


def _text(number: int) -> str:
    return f"seed {number}: what is chosen at random is chosen so again with --seed {number}"
