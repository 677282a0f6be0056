"""The sets of parameters that a new app's workflow compares: each is one that infra/main.bicep takes."""

import re
from pathlib import Path

import pytest

from tests.template.bicep import INFRA, MAIN

SETS = sorted((INFRA / "sets").glob("*.bicepparam"))
DECLARED = re.compile(r"^param (\w+) \w+( = )?", re.MULTILINE)
GIVEN = re.compile(r"^param (\w+) = ", re.MULTILINE)


@pytest.mark.behaviour("template.infra-compiles")
@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_a_set_gives_what_is_needed_and_nothing_that_is_not_there(path: Path) -> None:
    """The compiler would say so too; it is on few machines that run this."""
    declared = {name: bool(default) for name, default in DECLARED.findall(MAIN.read_text(encoding="utf-8"))}
    text = path.read_text(encoding="utf-8")
    given = set(GIVEN.findall(text))

    assert "using '../main.bicep'" in text
    assert {name for name, has_default in declared.items() if not has_default} <= given <= declared.keys()
