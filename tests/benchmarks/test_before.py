"""The measure beside an older commit: what it needs, and what it says where that is not to be had."""

import pytest

from benchmarks.figures import NotMeasuredError
from benchmarks.measures.before import checkout


@pytest.mark.slow
def test_a_commit_is_laid_out_whole() -> None:
    """In a folder that is gone afterwards."""
    with checkout("HEAD") as root:
        assert (root / "benchmarks" / "app" / "function_app.py").exists()

    assert not root.exists()


def test_a_commit_that_is_not_in_the_clone_is_told() -> None:
    """As in one without its history."""
    with pytest.raises(NotMeasuredError, match="The commit 0000000 is not in this clone"), checkout("0000000"):
        pass
