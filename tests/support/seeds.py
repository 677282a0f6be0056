"""A pytest plugin: one seed for all that is chosen at random in a run, said at its end; `--seed N` chooses so again.

Hypothesis takes it for all its tests, and prints what repeats a failing example beside it. Other tests ask for the
fixture `seed`, which stands in what they print when they fail.
"""

from __future__ import annotations

import secrets

import pytest
from hypothesis import settings


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run be repeated."""
    parser.addoption("--seed", type=int, default=None, help="choose at random as the run did that said this seed")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed, in the process that controls workers before they start, and give it to hypothesis.

    Its profile for CI would make the same examples each time: then CI finds what it found before. How long one example
    may take is no matter of a test.
    """
    if config.option.seed is None:
        config.option.seed = secrets.randbits(32)
    if getattr(config.option, "hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(config.option.seed)
    default = settings.get_profile("default")
    settings.register_profile("at random", default, print_blob=True, derandomize=False, deadline=None)
    settings.load_profile("at random")


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
