"""What the app does not stand yet of the unkind engine (`devhost.durable.unkind`): the tests that fail for it.

They are to fail, and one that passes fails the run: whoever mends the app takes its line out of here. The list is to
become shorter, never longer.
"""

from __future__ import annotations

import pytest

NOT_YET = {
    "calls twice": "an orchestration's call has another run id when its episode is made again (ids come of its time)",
}


def not_yet(what: str) -> pytest.MarkDecorator:
    """Return the mark of a test that fails for something on the list."""
    return pytest.mark.xfail(strict=True, reason=NOT_YET[what])
