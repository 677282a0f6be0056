"""Lines of the log, without the keys that stand in addresses.

A key in a URL opens a function, a webhook or an account for whoever reads the log. URLs come from many places: the web
server's access log, errors, the app's own HTTP clients, tracebacks. All of them pass here, as the last thing before a
line is written, so no writer has to remember it.
"""

from __future__ import annotations

import logging
import re

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_KEY = re.compile(r"""([?&][\w%.-]*?(?:code|sig|signature|key|token|secret|password)=)[^&\s"'<>#]+""", re.IGNORECASE)


class KeylessFormatter(logging.Formatter):
    """Writes records with `***` in place of the values of `code`, and of any query parameter that names a key."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, its traceback included."""
        return without_keys(super().format(record))


def without_keys(text: str) -> str:
    """Return the text with `***` for each key in a URL's query."""
    return _KEY.sub(r"\1***", text) if "=" in text else text
