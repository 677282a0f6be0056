"""Levels by category, as .NET's logging reads them from host.json: the longest rule that fits decides."""

from __future__ import annotations

import logging
from pathlib import Path

import httpx
import pytest

from devhost.forwarding import LogLevels
from tests.support.app_folder import make_app
from tests.support.running_host import RunningHost

RULES = {
    "default": "Warning",
    "Function": "Information",
    "Function.dafx-*.User": "Warning",
    "function.dafx-A.user": "Information",
    "function.dafx-Special.user": "Information",
    "Host": "None",
}


@pytest.mark.behaviour("devhost.log-levels")
@pytest.mark.parametrize(
    ("category", "level"),
    [
        ("Azure.Core", logging.WARNING),
        ("Function.http-Joker.User", logging.INFO),
        ("Function.dafx-Joker", logging.INFO),
        ("Function.dafx-Joker.User", logging.WARNING),
        ("Function.DAFX-Special.User", logging.INFO),
        ("Function.dafx-A.User", logging.INFO),
        ("Host.Triggers.DurableTask", logging.CRITICAL + 1),
    ],
)
def test_the_longest_rule_that_fits_decides(category: str, level: int) -> None:
    """In any case; without one the default does. A name with one letter is as long as the `*`."""
    assert LogLevels.of(RULES).of_category(category) == level


APP = """
import logging
import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@app.route(route="quiet-one")
@app.function_name("quiet-one")
def quiet(req: func.HttpRequest) -> str:
    logging.info("quiet and sync")
    logging.warning("warned")
    return "done"


@app.route(route="quiet-two")
@app.function_name("quiet-two")
async def quiet_too(req: func.HttpRequest) -> str:
    logging.info("quiet and async")
    print("printed")
    return "done"


@app.route(route="loud")
@app.function_name("loud")
def loud(req: func.HttpRequest) -> str:
    logging.info("loud")
    return "done"
"""
LEVELS = {"default": "Warning", "Function": "Information"}
TURNED_DOWN = {"Function.quiet-*.User": "Warning"}
SAID = ["quiet and sync", "warned", "quiet and async", "printed", "loud"]


@pytest.mark.slow
@pytest.mark.behaviour("devhost.log-levels")
@pytest.mark.parametrize(
    ("rules", "options", "said"),
    [
        (TURNED_DOWN, (), ["warned", "printed", "loud"]),
        (TURNED_DOWN, ("--port", "0", "--verbose"), SAID),
        ({}, (), SAID),
    ],
)
def test_what_host_json_turns_down_for_a_function_is_not_shown(
    tmp_path: Path, rules: dict[str, str], options: tuple[str, ...], said: list[str]
) -> None:
    """Of synchronous and asynchronous functions; a level below the default is kept, and so is all that is printed."""
    host_json = {"version": "2.0", "logging": {"logLevel": {**LEVELS, **rules}}}
    with RunningHost(make_app(tmp_path, APP, host=host_json), *options) as host:
        for route in ("quiet-one", "quiet-two", "loud"):
            assert httpx.get(f"{host.origin}/api/{route}").text == "done"
        host.stop()

    assert [text for line in host.printed for text in SAID if f"root: {text}" in line or line == text] == said
