"""The app of a suite whose tests are marked `killed_at`, and what its tools noted in all processes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.warm_python import Process, start_python
from tests.support.whole_lines import whole_lines

_SOURCE = """
import os
from functools import partial
from pathlib import Path

import hosting.app
from tests.support.{module} import {name}

NOTES = Path(os.environ["NOTES"])


def note(what):
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(what + "\\n")


hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
app = hosting.app.AgentFunctionApp({options})
"""


def source_of(name: str, module: str, options: str | None = None, more: str = "") -> str:
    """Return the source of an app with the agent that `name(note)` of a module in tests/support/ makes.

    `options` are those of the app, in place of the agent, and `more` follows it.
    """
    return (
        _SOURCE.format(module=module, name=name, options=f"agents=[{name}(note)]" if options is None else options)
        + more
    )


def start_warm(program: Sequence[str], folder: Path, environ: Mapping[str, str] | None) -> Process:
    """Start a host as a fork of a Python that has imported what it needs: a third of what a user's costs."""
    module, *arguments = program
    return start_python(module, *arguments, folder=folder, environ=os.environ if environ is None else environ)


class Notes:
    """The file in which tools note what they do, a line for each call."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def lines(self) -> list[str]:
        return whole_lines(self.path)

    @property
    def tools(self) -> list[str]:
        """The first word of each line: the tools that did something."""
        return [line.split()[0] for line in self.lines]


def cuts_off(request: pytest.FixtureRequest, tool: str) -> bool:
    """Return whether the kill of this test comes while that tool is at work, as far as the log knows."""
    moments = (f"after the call of '{tool}' was", f"before the result of '{tool}' was")
    return any(f"[killed {moment} " in request.node.name for moment in moments)
