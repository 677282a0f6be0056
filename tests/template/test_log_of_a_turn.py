"""What a turn leaves in the log by default: a recording of the real host, less what host.json and infra turn down.

The local host writes none of the real host's own records, so these are computed. The app's own are counted.
"""

import json
import logging
import shutil
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from devhost.forwarding import LogLevels
from hosting.azure_log import ENTITIES
from tests.support.running_host import RunningHost
from tests.support.settings_template import set_values
from tests.template.bicep import INFRA, ROOT, parsed

HOST_JSON = ROOT / "host.json"
SETTING = "Logging__LogLevel__"
MOST_RECORDS, MOST_BYTES = 6, 800
MOST_OF_A_LINE = 160
"""Of a thread and an agent with short names: the recorded line has 147 bytes."""
ACCESS_LINE = "Host.Function.Console"
"""Printed by the worker's web server, and left out by the app itself (`test_keys_in_logs.py`)."""


class Logged(NamedTuple):
    """Records of one category, all at Information, and the bytes of their texts."""

    records: int
    bytes: int


RECORDED = {
    "Function.dafx-Echo.User": Logged(6, 1696),
    "Microsoft.AspNetCore.Hosting.Diagnostics": Logged(4, 470),
    "Function.http-Echo": Logged(2, 242),
    "Host.Triggers.DurableTask": Logged(1, 226),
    "Function.dafx-Echo": Logged(2, 188),
    "Function.http-Echo.User": Logged(1, 147),
    ACCESS_LINE: Logged(1, 67),
}
"""A turn that begins a thread, on Microsoft's host of 2026-11-29, at Information for all of these categories."""


def levels(settings: dict[str, str]) -> LogLevels:
    """The levels of host.json, and those of app settings for what host.json does not reach."""
    rules = json.loads(HOST_JSON.read_text(encoding="utf-8"))["logging"]["logLevel"]
    return LogLevels.of({**rules, **levels_of_settings(settings)})


def levels_of_settings(settings: dict[str, str]) -> dict[str, str]:
    named = {name.strip("'"): level for name, level in settings.items()}
    return {name.removeprefix(SETTING): level for name, level in named.items() if name.startswith(SETTING)}


def kept(settings: dict[str, str]) -> set[str]:
    """The recorded categories that are kept at Information."""
    by_category = levels(settings)
    return {name for name in RECORDED if name != ACCESS_LINE and by_category.of_category(name) <= logging.INFO}


def together(categories: set[str]) -> Logged:
    return Logged(*map(sum, zip(*(RECORDED[name] for name in categories), strict=True)))


def deployed() -> dict[str, str]:
    """The settings of the host that infra deploys."""
    settings: dict[str, str] = parsed(INFRA / "app" / "api.bicep")["variables"]["hostSettings"]["value"]
    return settings


@pytest.mark.behaviour("template.log-of-a-turn")
def test_a_plain_turn_leaves_six_records_and_800_bytes_at_most() -> None:
    """By default, in a deployment and where Core Tools runs the app."""
    by_default = kept(deployed())
    left = together(by_default)

    assert left.records <= MOST_RECORDS
    assert left.bytes <= MOST_BYTES
    assert kept(set_values()) == by_default


@pytest.mark.behaviour("template.log-of-a-turn")
def test_warnings_of_every_category_are_kept() -> None:
    """What alerts of docs and infra read besides the runs' lines: a message of poison, a function that failed."""
    by_category = levels(deployed())
    others = ("DurableTask.AzureStorage", "DurableTask.Core", "Host.Results", "Function.agents_sweep.User")

    assert {by_category.of_category(name) <= logging.WARNING for name in (*RECORDED, *others)} == {True}
    assert by_category.of_category(ENTITIES.replace("*", "Joker")) == logging.WARNING


@pytest.mark.slow
@pytest.mark.behaviour("template.log-of-a-turn")
@pytest.mark.behaviour("template.infra-alerts")
def test_of_a_plain_turn_the_app_itself_leaves_its_line_and_nothing_else(tmp_path: Path) -> None:
    """With the template's host.json. Printed, it is the text that alerts and the workbook look for."""
    shutil.copy(ROOT / "tests" / "azure" / "app" / "function_app.py", tmp_path)
    shutil.copy(HOST_JSON, tmp_path)
    body = {"message": "hello", "thread_id": "first"}
    with RunningHost(tmp_path) as host:
        host.wait_for("Try: ")
        httpx.post(f"{host.origin}/api/agents/Assistant/run", json=body, timeout=20).raise_for_status()
        host.wait_for("on thread first: completed; ")
        host.stop()
    begin = next(number for number, line in enumerate(host.printed, 1) if line.startswith("Try: "))
    end = next(number for number, line in enumerate(host.printed) if line.startswith("Stopping"))
    said = filter(None, host.printed[begin:end])
    lines = [line.partition(" INFO hosting.core.telemetry: ")[2] or line for line in said]

    assert [line.startswith("Run ") and "; attempts 1, waited " in line for line in lines] == [True]
    assert len(lines[0].encode()) <= MOST_OF_A_LINE
