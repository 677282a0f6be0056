"""The words of a text, as every search compares them.

Theory. Texts are compared after NFKC and casefold, so letter case and the forms of one character do not count. A word
is a run of letters, marks and digits. Scripts without blanks between words (Chinese, Japanese, Korean, Thai and their
neighbours) are cut into pairs of characters that overlap, and a run's last character stands alone too. So what is
searched for is found wherever it begins in such a run.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator

MOST_CHARACTERS = 64
"""The characters that are kept of a word: of a longer one its beginning is searched for."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_MOST_MARK = 0x1F000
"""No mark (category M) stands behind it, but for variation selectors, which NFKC keeps and nobody searches for."""


def _marks() -> str:
    """Return all combining marks as the inner part of a set of characters: `re` has no name for them."""
    marks = (chr(code) for code in range(0x300, min(_MOST_MARK, sys.maxunicode)))
    return "".join(mark for mark in marks if unicodedata.category(mark)[0] == "M")


RUN = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])(?:[^\W_]|[{_marks()}]))+")
"""What words are cut of: a run of letters, marks and digits."""
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")


def is_unspaced(run: str) -> bool:
    """Return whether the run begins with a character of a script without blanks."""
    return _IS_UNSPACED.match(run) is not None


def folded(text: str) -> str:
    """Return the text as it is compared."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text, as often as they stand in it."""
    for run in RUN.findall(folded(text)):
        if not run.isascii() and is_unspaced(run):
            yield from (run[start : start + 2] for start in range(len(run) - 1))
            yield run[-1]
        else:
            yield run[:MOST_CHARACTERS]
