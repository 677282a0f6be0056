"""docs/reference/commands.md says what the command line takes, and no more."""

from __future__ import annotations

import argparse
import re

import pytest

from devhost.cli import command_line
from tests.support.pages import page, part

PAGE = part(page("docs/reference/commands.md"), "## Run and look at an app")


def commands() -> dict[str, argparse.ArgumentParser]:
    parsers = next(action for action in command_line()._actions if isinstance(action.choices, dict)).choices
    assert isinstance(parsers, dict)
    return parsers


@pytest.mark.behaviour("devhost.documented")
def test_every_command_stands_in_the_table_and_no_other():
    documented = re.findall(r"^\| `python dev\.py (?:host (?=[a-z]))?(\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(documented) == sorted("run" if command == "start" else command for command in commands())


@pytest.mark.behaviour("devhost.documented")
def test_every_option_of_start_stands_in_the_table_and_no_other():
    """Help apart, and what its help hides: the host's word to itself."""
    shown = [action for action in commands()["start"]._actions if action.help != argparse.SUPPRESS]
    options = {option for action in shown for option in action.option_strings}
    documented = re.findall(r"^\| `(--[\w-]+)` \|", PAGE, re.MULTILINE)
    assert sorted(documented) == sorted(options - {"-h", "--help"})
