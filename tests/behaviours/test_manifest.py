"""The manifest of promised rules and the tests that show them, held together in both directions."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.support.shown_rules import promised_rules, rules_of

TESTS = Path(__file__).resolve().parents[1]
PROMISED = promised_rules()
areas = pytest.mark.parametrize("area", PROMISED, ids=lambda area: area.stem)


@cache
def marks() -> frozenset[tuple[str, str]]:
    """Return every `pytest.mark.behaviour(id)` in the tests: the id and the file."""
    return frozenset(
        (rule, str(path.relative_to(TESTS)))
        for path in TESTS.rglob("test_*.py")
        for rule in rules_of(path.read_text(encoding="utf-8"))
    )


@areas
def test_every_promised_rule_is_shown_by_a_test(area: Path) -> None:
    """An id that no test is marked with is a promise that nobody checks."""
    shown = {rule for rule, _ in marks()}

    assert sorted(PROMISED[area].keys() - shown) == []


def test_every_marked_rule_is_promised() -> None:
    """A mark that the manifest lacks is a misspelling, or a rule that no reader of the manifest sees."""
    known = {rule for area in PROMISED for rule in PROMISED[area]}

    assert sorted(mark for mark in marks() if mark[0] not in known) == []


def test_no_rule_is_promised_twice() -> None:
    """Ids are unique over all areas, so that a mark means one rule."""
    counted = Counter(rule for area in PROMISED for rule in PROMISED[area])

    assert [rule for rule, times in counted.items() if times > 1] == []


@areas
def test_a_rule_is_a_sentence(area: Path) -> None:
    """A rule can be read alone: it begins with its area's subject and ends with a full stop."""
    assert [rule for rule, sentence in PROMISED[area].items() if not sentence.endswith(".")] == []
