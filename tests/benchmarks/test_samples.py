"""The percentiles are of the samples themselves."""

import pytest

from benchmarks.samples import median, percentile


@pytest.mark.parametrize(("percent", "expected"), [(50, 500), (95, 950), (99, 990), (99.95, 1000)])
def test_a_percentile_is_the_smallest_sample_that_so_many_do_not_exceed(percent: float, expected: float) -> None:
    """In whatever order the samples came."""
    assert percentile([float(number) for number in range(1000, 0, -1)], percent) == expected


def test_the_median_of_two_samples_is_one_of_them() -> None:
    """Nearest rank invents no time between two."""
    assert median([3.0, 1.0]) == 1.0


def test_no_samples_have_no_percentile() -> None:
    """Rather than a zero that looks like a very fast host."""
    with pytest.raises(ValueError, match="nothing was measured"):
        percentile([], 50)
