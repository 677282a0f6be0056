"""Loads the app of the current folder as Azure's worker does: what it raises and logs meanwhile is for nobody.

`python -m tests.hosting.indexing_worker`; exit code 1 if it cannot be loaded.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys


def main() -> int:
    """Import the script and ask the app in it for its functions."""
    logging.getLogger().addHandler(logging.NullHandler())
    sys.path.insert(0, os.getcwd())
    try:
        raise LookupError("what the worker handles while it imports is no failure of the app")
    except LookupError:
        try:
            importlib.import_module("function_app").app.get_functions()
        except BaseException:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
