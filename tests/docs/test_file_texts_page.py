"""file-texts.md: its codes and limits are those of the code."""

from __future__ import annotations

import re

from hosting.features.uploads.search.texts.limits import TextLimits
from hosting.features.uploads.search.texts.refusals import SENTENCES
from tests.support.page_tables import rows
from tests.support.pages import page

PAGE = page("docs/reference/file-texts.md")


def test_each_code_of_a_file_stands_on_the_page() -> None:
    """And no other."""
    assert [code.strip("`") for code, _ in rows(PAGE, "code")] == list(SENTENCES)


def test_each_limit_of_a_text_stands_on_the_page() -> None:
    """With its default."""
    listed = {re.findall(r"`(\w+)`", name)[0]: int(default.replace(",", "")) for name, default in rows(PAGE, "limit")}

    assert listed == {name: getattr(TextLimits(), name) for name in TextLimits.__struct_fields__}
