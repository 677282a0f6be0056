"""What is logged while the app is made, kept until an invocation can carry it.

On Azure the host drops what an app logs outside of an invocation, so what an app finds out about itself as it starts
would be read by nobody. It is logged where it is found, for who sits in front of it, and again by the first invocation
of the process. Where no host runs the app nothing is kept.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from hosting.surroundings import is_hosted

MOST_RECORDS = 100
"""An app whose start-up says more than this has said enough."""


class _Keeper(logging.Handler):
    """Keeps what the thread logs that makes the app; the worker's other threads are none of its business."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread and len(self.records) < MOST_RECORDS:
            self.records.append(record)


_KEEPERS: list[_Keeper] = []
"""The one that keeps or has kept, until it has told: logging is one for a process, and so is this."""


def keep_start_up(environ: Mapping[str, str]) -> None:
    """Keep what is logged from here to `end_start_up`, where a host runs the app."""
    if not is_hosted(environ):
        return
    end_start_up()
    _KEEPERS.append(_Keeper())
    logging.getLogger().addHandler(_KEEPERS[-1])


def end_start_up() -> None:
    """Keep nothing more: the app is made, and the worker has its functions."""
    for keeper in _KEEPERS:
        logging.getLogger().removeHandler(keeper)


def tell_start_up() -> None:
    """Log again what was kept, once in a process: to be called within an invocation."""
    while _KEEPERS:
        for record in _KEEPERS.pop().records:
            logger = logging.getLogger(record.name)
            told = f"At start-up: {record.getMessage()}"
            where = record.pathname, record.lineno
            logger.handle(logger.makeRecord(record.name, record.levelno, *where, told, (), record.exc_info))
