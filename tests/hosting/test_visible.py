"""Text by which a person decides: nothing in it is unseen."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest

from hosting.visible import visible, visible_json, visible_line

pytestmark = pytest.mark.behaviour("approvals.visible")

WRITTEN_OUT = {"Cc", "Cf", "Zl", "Zp", "Cs"}


def test_every_control_format_separator_and_surrogate_is_written_out() -> None:
    """As Python's own tables have them, but tabs and line ends; all that is a letter, a sign or a blank stays."""
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        category = unicodedata.category(character)
        if category not in WRITTEN_OUT and number % 97:
            continue
        if category in WRITTEN_OUT and character not in "\t\n":
            assert visible(character) == f"{json.dumps(character)[1:-1]}" or visible(character) == f"\\u{number:04x}"
            assert visible(character) != character
        elif category[0] in "LNPS" and category != "Lo":
            assert visible(character) == character


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u202e001", "\\u202e001"),
        ("a\u200bb", "a\\u200bb"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("\x1b[8m", "\\u001b[8m"),
        ("\x7f\x9b", "\\u007f\\u009b"),
        ("\u3164\u115f", "\\u3164\\u115f"),
        ("\ufe0f\U000e0101", "\\ufe0f\\udb40\\udd01"),
        ("Grüße, שלום, 你好 🙂\n\tend", "Grüße, שלום, 你好 🙂\n\tend"),
    ],
)
def test_what_is_not_seen_is_written_out_and_the_rest_stays(text: str, shown: str) -> None:
    """Overrides, widths of nothing, tags, escapes of terminals, fillers, selectors."""
    assert visible(text) == shown
    assert json.loads(f'"{visible(text)}"'.replace("\n", "\\n").replace("\t", "\\t")) == text


def test_json_stays_the_same_value_and_a_name_stays_one_line() -> None:
    value = {"to\u202e": ["\u2066a", {"\u200d": "\n"}]}

    assert json.loads(visible_json(value)) == value
    assert visible_json(value) == '{"to\\u202e": ["\\u2066a", {"\\u200d": "\\n"}]}'
    assert visible_line("pay\n\u202eno") == "pay\\n\\u202eno"
