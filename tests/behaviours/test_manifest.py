"""The manifest of promised rules and the tests that show them, held together in both directions."""

from pathlib import Path

from tests.support.shown_rules import promised_rules, rules_of

TESTS = Path(__file__).resolve().parents[1]
PROMISED = [rule for rules in promised_rules().values() for rule in rules.items()]
IDS = [rule for rule, _ in PROMISED]


def test_the_rules_that_are_promised_are_those_that_tests_are_marked_with() -> None:
    """A promise that nobody checks, and a mark that no reader of the manifest sees. An id means one rule."""
    shown = {rule for path in TESTS.rglob("test_*.py") for rule in rules_of(path.read_text(encoding="utf-8"))}

    assert len(IDS) > 1000
    assert sorted(shown) == sorted(IDS)


def test_each_line_of_a_page_is_a_rule_and_a_rule_is_a_sentence() -> None:
    """A line that is written otherwise would be no promise, and nobody would see it."""
    lines = [line for area in promised_rules() for line in area.read_text(encoding="utf-8").splitlines()]

    assert len([line for line in lines if line and not line.startswith("# ")]) == len(IDS)
    assert [rule for rule, sentence in PROMISED if not sentence.endswith(".")] == []
