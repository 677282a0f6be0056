"""What does not hold yet where an app runs in groups, by name and strictly: what begins to pass fails its run until it
is taken off the list.

As a plugin (`-p`, with `--groups`) it marks the endpoint tests, in such runs alone.
"""

import pytest

NOT_YET: dict[str, dict[str, str]] = {
    "sqlite": {},
    "blob": {},
    "redis": {},
}
"""By the log's backend: the name of the endpoint test, and why it fails."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--groups", choices=sorted(NOT_YET), required=True, help="the log of the app, which runs in groups"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is listed. A name that no test has is refused: it would stand there for ever."""
    reasons = NOT_YET[config.getoption("--groups")]
    unknown = reasons.keys() - {item.name for item in items}
    if unknown:
        raise pytest.UsageError(f"NOT_YET names tests that are not there: {', '.join(sorted(unknown))}")
    for item in items:
        if reason := reasons.get(item.name):
            item.add_marker(pytest.mark.xfail(strict=True, reason=reason))
