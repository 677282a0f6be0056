"""A pytest plugin: what an app leaves in its process ends with the test that began it, unless a run is left on it.

An app lasts as long as its process: its loop, a thread that asks the loop twice a second whether it is blocked, another
that waits for the signals that end the process, and its handlers of them. A process that runs thousands of tests has a
thousand apps. It kept all of them, and spent more on them than on the tests.
"""

from __future__ import annotations

import asyncio
import atexit
import signal
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import pytest

_begun: list[Any] = []
"""The loops that the test that runs has made, but for those that other tests use too."""
_watching: list[Any] = []
"""What waits for the end of the process, for the test that runs."""
_shared = 0
"""How many fixtures that several tests share are being set up."""
_OVER = object()
"""In the place of a signal: nothing waits for one any more."""
_ENDING = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
"""What the process of the tests does at the signals that end it; each test begins with it."""


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[None]:
    """Know whose an app is that is made now."""
    global _shared
    is_shared = fixturedef.scope != "function"
    _shared += is_shared
    try:
        return (yield)
    finally:
        _shared -= is_shared


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """End what a test began behind its last fixture."""
    _wrap("hosting.core.agent.agent_loop", "AgentLoop", __init__=_noted)
    _wrap("hosting.functions.shutdown", "Shutdown", _watch=_noted_where_it_watches, _end=_ended_without_a_signal)
    received = yield
    for loop in _begun:
        if is_idle(loop):
            loop.close()
    _begun.clear()
    if _watching:
        for number, handler in _ENDING.items():
            signal.signal(number, handler)
    for shutdown in _watching:
        atexit.unregister(shutdown._close)
        shutdown._signals.put(_OVER)
    _watching.clear()
    return received


def is_idle(loop: Any) -> bool:
    """Return whether nothing is left to do on an agent loop; agents that are open there are closed with it."""
    if loop._loop is None:
        return False
    return asyncio.all_tasks(loop._loop) <= {lifespan.task for lifespan in loop.lifespans.held.values()}


def _wrap(module: str, name: str, **wrappers: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Wrap methods of a class, once a test has imported it."""
    owner: Any = getattr(sys.modules.get(module), name, None)
    for method, wrapper in wrappers.items():
        if owner is not None and not hasattr(getattr(owner, method), "__wrapped__"):
            setattr(owner, method, wraps(getattr(owner, method))(wrapper(getattr(owner, method))))


def _noted(begin: Callable[..., Any]) -> Callable[..., Any]:
    def begin_and_note(self: Any, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        if not _shared:
            _begun.append(self)

    return begin_and_note


def _noted_where_it_watches(watch: Callable[[Any], None]) -> Callable[[Any], None]:
    def watch_and_note(self: Any) -> None:
        watch(self)
        if self._watches and not _shared:
            _watching.append(self)

    return watch_and_note


def _ended_without_a_signal(end: Callable[[Any], None]) -> Callable[[Any], None]:
    def end_at_a_signal(self: Any) -> None:
        first = self._signals.get()
        if first is not _OVER:
            self._signals.put(first)
            end(self)

    return end_at_a_signal
