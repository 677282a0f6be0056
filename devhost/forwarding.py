"""Which log records of the app a real host would get, distinguished as its worker does it.

Theory. The worker sends a record on with the id of the invocation that it finds as the record is logged: the one that
stands on the running task, which a task inherits from the task that made it, else that of the thread's storage. The
host drops a record without one. So code that logs from a loop or a thread of its own, and whatever is logged outside of
functions, is seen on a laptop and never on Azure. This host marks tasks and threads as the worker for Python 3.12 and
below does, which finds the least, and leaves out what would be dropped, warnings of the start among it: what is to be
read there is printed. It shows all of it with `--verbose`. What is left out is never left out silently: the first time,
its logger is named.

What a function logs is of the category `Function.<name>.User`, and what host.json turns down is left out too, as .NET's
logging does. A rule names the beginning of a category, and after a `*` its end; of those that fit the longest decides,
of two as long the later by the alphabet.

A key in a URL opens a function, a webhook or an account for whoever reads the log. So no line of this host's own has
one: all pass `KeylessFormatter`, as the last thing before they are written. The app's records are shown as they are,
because Azure keeps them so, and so are tracebacks: a key that is seen here would stand there.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO
from urllib.parse import unquote

logger = logging.getLogger(__name__)

LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "information": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "none": logging.CRITICAL + 1,
}

TASK_MARK = "__azure_function_invocation_id__"
MARK = "[not forwarded on Azure: no invocation]"
THREAD_STORAGE = threading.local()
"""What functions get as their context's `thread_local_storage`; its `invocation_id` counts for the thread's records."""

_FUNCTIONS: dict[str, str] = {}
"""The function of each invocation that has not ended."""

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_PARAMETER = re.compile(r"""([?&]([\w%.-]+)=)[^&\s"'<>#]+""")
_NAMES_OF_KEYS = ("code", "sig", "signature", "key", "token", "secret", "password")
_OF_THE_HOST = (__name__.partition(".")[0], "uvicorn")


@dataclass(frozen=True)
class LogLevels:
    """The least level that is kept, by rule, `default` among them. Python's numbers stand for the host's levels."""

    by_rule: Mapping[str, int]

    @classmethod
    def of(cls, named: Mapping[str, object]) -> LogLevels:
        """Return the rules of host.json, whose levels are in `LEVELS`."""
        levels = {name.lower(): LEVELS[str(level).lower()] for name, level in named.items()}
        return cls({"default": logging.INFO, **levels})

    def of_category(self, category: str) -> int:
        """Return the least level that the category keeps."""
        parts = ((rule, *rule.partition("*")[::2]) for rule in self.by_rule)
        name = category.lower()
        fitting = (rule for rule, begin, end in parts if name.startswith(begin) and name.endswith(end))
        return self.by_rule[max(fitting, key=lambda rule: (len(rule), rule), default="default")]


@contextmanager
def filed_under(function: str, invocation_id: str) -> Iterator[None]:
    """File what is logged for the invocation under the function's category, until the block ends."""
    _FUNCTIONS[invocation_id] = function
    try:
        yield
    finally:
        del _FUNCTIONS[invocation_id]


def mark_task(invocation_id: str) -> None:
    """Let the running task, and those that it makes from here on, log for the invocation."""
    setattr(asyncio.current_task(), TASK_MARK, invocation_id)


def make_task(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
    """Make a task that logs for the invocation of the task that makes it: a loop's task factory."""
    task = asyncio.Task(work, loop=loop, **options)
    invocation_id = getattr(asyncio.current_task(loop), TASK_MARK, None)
    if invocation_id is not None:
        setattr(task, TASK_MARK, invocation_id)
    return task


def current_invocation_id() -> str | None:
    """Return the id that a record logged here and now carries."""
    found: str | None = None
    with suppress(RuntimeError):  # where no loop runs in this thread
        found = getattr(asyncio.current_task(), TASK_MARK, None)
    return found or getattr(THREAD_STORAGE, "invocation_id", None)


class AppLog(logging.StreamHandler[TextIO]):
    """Shows the host's records, and the app's as far as Azure would get them.

    Once the host `is_stopped`, it no longer names loggers whose records are left out: what a package logs as the
    interpreter ends (a session that is not closed) is nothing to act on.
    """

    def __init__(self, levels: LogLevels, *, verbose: bool) -> None:
        super().__init__()
        self._levels = levels
        self.is_stopped = False
        self._verbose = verbose
        self._named: set[str] = set()
        self.setFormatter(KeylessFormatter(FORMAT))

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`."""
        if _is_own(record):
            if self._verbose or record.levelno >= self._levels.by_rule["default"]:
                super().emit(record)
        elif (invocation_id := current_invocation_id()) is not None:
            if self._verbose:
                super().emit(_with(record, f"[invocation {invocation_id}]"))
            elif record.levelno >= self._levels.of_category(f"Function.{_FUNCTIONS.get(invocation_id, '')}.User"):
                super().emit(record)
        elif self._verbose:
            super().emit(_with(record, MARK))
        elif not self.is_stopped and record.name not in self._named:
            self._named.add(record.name)
            logger.log(
                min(record.levelno, logging.WARNING),
                "'%s' logs outside of an invocation. Azure drops that, and it is not shown here: start with --verbose "
                "to see it. See docs/reference/local-host.md, What is logged.",
                record.name,
            )


def _is_own(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] in _OF_THE_HOST


def _with(record: logging.LogRecord, mark: str) -> logging.LogRecord:
    marked = copy.copy(record)
    marked.msg, marked.args = f"{record.getMessage()} {mark}", ()
    return marked


class KeylessFormatter(logging.Formatter):
    """Writes the host's own messages with `***` for the values of `code`, and of any query parameter that names a key.

    The app's records, and tracebacks, which are the app's too, are written as they are.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line without its traceback."""
        line = super().formatMessage(record)
        return without_keys(line) if _is_own(record) else line


def without_keys(text: str) -> str:
    """Return the text with `***` for each key in a URL's query."""
    return _PARAMETER.sub(_without_key, text) if "=" in text else text


def _without_key(parameter: re.Match[str]) -> str:
    # Decoded, as whoever asks for the key decodes it: `%63ode` opens what `code` does.
    return f"{parameter[1]}***" if unquote(parameter[2]).lower().endswith(_NAMES_OF_KEYS) else parameter[0]
