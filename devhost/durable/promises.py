"""A future without values or loops: settled once, failed or not, watchers called at once.

The action interpreter follows a program over recorded history. Nothing in it may depend on an event loop's order, so
asyncio's futures will not do.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

Program = Generator["Promise", bool, None]


class Promise:
    """Something that will be settled once; `has_failed` means nothing before that."""

    __slots__ = ("_watchers", "has_failed", "is_settled")

    def __init__(self) -> None:
        self.is_settled = False
        self.has_failed = False
        self._watchers: list[Callable[[], None]] = []

    def settle(self, has_failed: bool = False) -> None:
        """Settle it, and call whoever watches; nothing when it is settled already."""
        if self.is_settled:
            return
        self.is_settled, self.has_failed = True, has_failed
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            watcher()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call the watcher once it is settled, which may be now."""
        if self.is_settled:
            watcher()
        else:
            self._watchers.append(watcher)


def settled() -> Promise:
    """Return a promise that is kept already."""
    promise = Promise()
    promise.settle()
    return promise


def all_of(promises: Sequence[Promise]) -> Promise:
    """Return a promise that is kept when all are, and fails as soon as one fails.

    Fail-fast is what the SDK does. The real host waits for all of them, loses count of the ids when a retry is among
    them, and hangs.
    """
    together = Promise()
    left = len(promises)

    def count() -> None:
        nonlocal left
        left -= 1
        if any(promise.is_settled and promise.has_failed for promise in promises):
            together.settle(has_failed=True)
        elif left == 0:
            together.settle()

    if not promises:
        together.settle()
    for promise in promises:
        promise.watch(count)
    return together


def any_of(promises: Sequence[Promise]) -> Promise:
    """Return a promise that is kept when the first of them is settled, failed or not."""
    first = Promise()
    if not promises:
        first.settle()
    for promise in promises:
        promise.watch(first.settle)
    return first


def follow(program: Program) -> Promise:
    """Run a program that yields promises and is sent whether each failed; it fails by raising `ProgramFailedError`.

    Every other exception of the program escapes to whoever settled the promise it waited for.
    """
    ended = Promise()

    def go_on(promise: Promise | None = None) -> None:
        try:
            while promise is None or promise.is_settled:
                promise = program.send(promise.has_failed) if promise else next(program)
        except StopIteration:
            ended.settle()
        except ProgramFailedError:
            ended.settle(has_failed=True)
        else:
            waited_for = promise
            waited_for.watch(lambda: go_on(waited_for))

    go_on()
    return ended


class ProgramFailedError(Exception):
    """A followed program ended in failure."""
