"""docs/guides/triggers.md: its examples are apps, and its tables have the options that there are."""

from __future__ import annotations

import re

import pytest

from hosting.features.triggers.trigger import TriggerOptions
from tests.support.pages import page, part

PAGE = page("docs/guides/triggers.md")


@pytest.mark.behaviour("docs.triggers")
def test_the_table_has_the_options_of_a_trigger() -> None:
    options = part(PAGE, "## One run for each delivery").split("| option |")[1].split("\n\n")[0]
    listed = re.findall(r"^\| `([a-z_]+)` \|", options, flags=re.MULTILINE)

    assert listed == list(TriggerOptions.__annotations__)
