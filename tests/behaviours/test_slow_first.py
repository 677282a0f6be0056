"""The order in which several processes share the tests."""

from __future__ import annotations

from tests.support.slow_first import slow_first

Test = tuple[str, bool, int]


def files(*slow: int, fast: int) -> list[Test]:
    """Return tests as file, whether slow, and number: fast ones, then so many slow ones of each file."""
    tests = [(f"slow {file}", True, number) for file, count in enumerate(slow) for number in range(count)]
    return [*(("fast", False, number) for number in range(fast)), *tests]


def ordered(tests: list[Test], processes: int) -> list[Test]:
    return slow_first(tests, processes, seconds_of=lambda test: 2.0 * test[1], file_of=lambda test: test[0])


def test_each_share_begins_with_slow_tests_and_those_of_a_file_are_together() -> None:
    """The shares are as equal as those that pytest-xdist makes of the order; none is lost."""
    tests = files(3, 2, 2, fast=13)
    order = ordered(tests, 3)

    shares = [order[:6], order[6:13], order[13:]]
    assert [[name for name, is_slow, _ in share if is_slow] for share in shares] == [
        ["slow 0"] * 3,
        ["slow 1"] * 2,
        ["slow 2"] * 2,
    ]
    assert [[is_slow for _, is_slow, _ in share] for share in shares] == [
        sorted((is_slow for _, is_slow, _ in share), reverse=True) for share in shares
    ]
    assert sorted(order) == sorted(tests)


def test_more_slow_tests_than_shares_hold_stay_in_their_order() -> None:
    """And no test is lost for want of fast ones, nor of any."""
    assert ordered(files(4, 1, fast=1), 2) == [*files(4, 1, fast=0), *files(fast=1)]
    assert ordered([], 4) == []


def test_files_with_long_tests_come_first_and_shares_take_as_long_as_each_other() -> None:
    """A test of two minutes at the end of a share would leave the other processes idle."""
    tests = [("many", 2.0, number) for number in range(5)] + [("long", 120.0, 0), ("few", 2.0, 0), ("next", 60.0, 0)]
    order = slow_first(tests, 2, seconds_of=lambda test: test[1], file_of=lambda test: test[0])

    assert [name for name, *_ in order] == ["long", "next", "many", "many", "many", "many", "many", "few"]
