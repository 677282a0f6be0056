"""The queries of infra/app/alerts.bicep and workbook.json, held against the line that the app logs as a run ends."""

import json
import logging
import re

import pytest

from hosting.core.telemetry import report
from hosting.core.thread.events import Cancelled, Failed
from hosting.names import Address
from tests.template.bicep import INFRA, parsed

ADDRESS = Address.of("Joker: the; second", "first")

pytestmark = pytest.mark.behaviour("template.infra-alerts")


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
