"""Which of the two durable SDKs an app runs on."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from packages.durable_agent_host.checks.app import PYTHONS, REQUIREMENTS, AppFolder, lock_file

SDK = "azure-functions-durable"


def durable_sdk(app: AppFolder) -> str:
    """Return a line with the SDK's version, and where it is from.

    That is the lock file of the Python in `infra/`, another lock file, requirements.txt, or what is installed here.
    """
    for file in _files(app):
        for requirement in app.requirements_of(file):
            if requirement.name == SDK and requirement.is_held:
                return _line(requirement.version.removeprefix("=="), f"by {file}")
    try:
        return _line(version(SDK), "as it is installed here")
    except PackageNotFoundError:
        return f"durable SDK: not known. No file of the app has the version of {SDK}, and it is not installed here."


def _files(app: AppFolder) -> Iterator[str]:
    deployed = sorted({python for _, python in app.runtimes})
    yield from (lock_file(python) for python in (*deployed, *(each for each in PYTHONS if each not in deployed)))
    yield REQUIREMENTS


def _line(number: str, source: str) -> str:
    """Return the line: 1.7 and 2.x have protocols of their own, and one app has one of them."""
    line = "1.7" if number.startswith("1.") else f"{number.partition('.')[0]}.x"
    return f"durable SDK {line}: {SDK} {number}, {source}"
