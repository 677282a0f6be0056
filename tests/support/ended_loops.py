"""A pytest plugin: an agent loop that a test began ends with the test, unless a run is left on it.

An app's loop lasts as long as its process, and a thread of its own asks it twice a second whether it is blocked. A
process that runs thousands of tests has a thousand apps, and spent more on that than on the tests.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from functools import wraps
from typing import Any

import pytest

_MODULE = "hosting.runner.agent_loop"
_begun: list[Any] = []
"""The loops that the test that runs has made, but for those that other tests use too."""
_shared = 0
"""How many fixtures that several tests share are being set up."""


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[None]:
    """Know whose a loop is that is made now."""
    global _shared
    is_shared = fixturedef.scope != "function"
    _shared += is_shared
    try:
        return (yield)
    finally:
        _shared -= is_shared


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """End the loops of a test behind its last fixture."""
    _note_loops()
    received = yield
    for loop in _begun:
        if is_idle(loop):
            loop.close()
    _begun.clear()
    return received


def is_idle(loop: Any) -> bool:
    """Return whether nothing is left to do on an agent loop; agents that are open there are closed with it."""
    if loop._loop is None:
        return False
    return asyncio.all_tasks(loop._loop) <= {task for task, _ in loop.lifespans._held.values()}


def _note_loops() -> None:
    """Have each new loop noted, once a test has imported them."""
    module: Any = sys.modules.get(_MODULE)
    if module is None or hasattr(module.AgentLoop.__init__, "__wrapped__"):
        return
    begin = module.AgentLoop.__init__

    @wraps(begin)
    def begin_and_note(self: Any, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        if not _shared:
            _begun.append(self)

    module.AgentLoop.__init__ = begin_and_note
