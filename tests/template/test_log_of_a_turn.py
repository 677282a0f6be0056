"""What a turn leaves in the log by default: a recording of the real host, less what host.json and infra turn down.

The local host writes none of the real host's own records, so these are computed. The app's own are counted.
"""

import json
import logging
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from devhost.forwarding import LogLevels
from hosting.azure_log import ENTITIES
from hosting.core.telemetry import report
from hosting.core.thread.events import Cancelled, Failed
from hosting.names import Address
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


ADDRESS = Address.of("Joker: the; second", "first")


def line(code: str, *, is_cancelled: bool = False) -> str:
    """What the app logs of a run that ended with this code."""
    logger = logging.getLogger("hosting.core.telemetry")
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    kind = Cancelled if is_cancelled else Failed
    report(ADDRESS.agent, ADDRESS, kind(at=1.0, run_id="r1", code=code, detail="", entry={}), None)
    logger.removeHandler(handler)
    logger.setLevel(level)
    return records[0].getMessage()


def matches(query: str, message: str) -> bool:
    """Whether a query counts a message, by the operators of Kusto that our queries have."""
    for condition in query.split(" | where ")[1:]:
        python = re.sub(r'Message startswith ("[^"]*")', r"message.startswith(\1)", condition)
        python = re.sub(r'Message contains ("[^"]*")', r"(\1 in message)", python)
        python = re.sub(r'todouble\(extract\(("[^"]*"), 1, Message\)\)', r"float(re.search(\1, message)[1])", python)
        if not eval(python, {"message": message, "re": re}):
            return False
    return True


LOST, FAILED, CANCELLED = line("run_lost"), line("agent_failed"), line("run_cancelled", is_cancelled=True)
COMPLETED = FAILED.replace("agent_failed", "completed")
# As Microsoft's provider of Azure Storage writes it (DurableTask.AzureStorage, a warning).
POISON = "@joker@first: Message EventRaised with ID 0f1e has been dequeued 20 times and is now considered poison"
WAITED = COMPLETED.replace("waited 0.000 s", "waited 61.250 s")


@pytest.mark.behaviour("template.infra-alerts")
@pytest.mark.parametrize(
    ("name", "counted"),
    [("runs-failed", [LOST, FAILED]), ("runs-lost", [LOST]), ("runs-wait", [WAITED]), ("messages-poison", [POISON])],
)
def test_an_alert_counts_the_runs_that_it_names(name: str, counted: list[str]) -> None:
    replaced = [line(code, is_cancelled=True) for code in ("run_rolled_back", "run_superseded")]
    lines = [
        LOST,
        FAILED,
        CANCELLED,
        COMPLETED,
        WAITED,
        POISON,
        *replaced,
        "Run r1 of agent a on thread t: completed",
    ]

    alerts = parsed(INFRA / "app" / "alerts.bicep")["variables"]
    (query,) = [rule["query"] for rule in alerts["rules"]["value"] if rule["name"] == name]

    query = query.replace("${ended}", alerts["ended"]["value"])
    assert [message for message in lines if matches(query, message)] == counted


@pytest.mark.behaviour("template.infra-alerts")
def test_the_workbook_reads_each_part_of_the_line() -> None:
    """Its `parse` is a pattern of words between which stand the parts, each with a name."""
    items = json.loads((INFRA / "app" / "workbook.json").read_text(encoding="utf-8"))["items"]
    queries = [item["content"]["query"] for item in items]
    (parse,) = {found for query in queries for found in re.findall(r"parse message with (.*?) \| ", query)}
    pattern = "".join(
        re.escape(part[1:-1]) if part.startswith('"') else f"(?P<{part.partition(':')[0]}>.*?)"
        for part in re.findall(r'"[^"]*"|\S+', parse)
    )
    found = re.fullmatch(pattern, line("run_lost").replace(ADDRESS.agent, "Joker"))

    assert found is not None
    assert found.groupdict() == {
        "run": "r1",
        "agent": "Joker",
        "thread": "first",
        "outcome": "run_lost",
        "attempts": "0",
        "waited": "0.000",
        "ran": "0.000",
        "tokens_in": "-",
        "tokens_out": "-",
    }
