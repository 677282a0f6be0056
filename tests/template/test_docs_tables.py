"""The tables of deploying.md, deployment.md and costs.md, held against the files that they tell of."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.page_tables import rows
from tests.template.bicep import ROOT

DEPLOYMENT = (ROOT / "docs" / "reference" / "deployment.md").read_text(encoding="utf-8")
COSTS = (ROOT / "docs" / "reference" / "costs.md").read_text(encoding="utf-8")
DAYS, QUEUES, SECONDS_OF_A_DAY, MEMORY_GB = 30, 5, 86_400, 2
COUNTED = ("batches", "queries", "reads", "kB up", "kB down")


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each key of nested objects as a dotted path, with its value as host.json has it."""
    for key, part in value.items():
        if isinstance(part, dict):
            yield from leaves(part, f"{path}{key}.")
        else:
            yield f"{path}{key}", str(part).lower() if isinstance(part, bool) else str(part)


def numbers(first: str, column: int = 1) -> dict[str, float]:
    return {cells[0]: float(cells[column].replace(",", "")) for cells in rows(COSTS, first)}


@pytest.mark.behaviour("template.host-json-explained")
def test_every_line_of_host_json_is_explained_with_its_value() -> None:
    """In the file's order or another; none is left out and none is of another version."""
    host = json.loads((ROOT / "host.json").read_text(encoding="utf-8"))

    assert {cells[0].strip("`"): cells[1] for cells in rows(DEPLOYMENT, "key")} == dict(leaves(host))


@pytest.mark.parametrize(("column", "turns"), [(1, 1_000), (2, 1_000_000)])
@pytest.mark.behaviour("template.costs-add-up")
def test_the_sums_of_a_month_follow_from_the_prices_and_from_what_a_turn_uses(column: int, turns: int) -> None:
    """A price that is changed shows which sums are not true any more."""
    price, use, month = numbers("price"), numbers("of one turn"), turns * DAYS
    queue_call = price["queue and table operations"] / 1e4
    alone = month * use["instance seconds"] * MEMORY_GB
    always_up = 2 * MEMORY_GB * SECONDS_OF_A_DAY * DAYS
    log = {cells[0]: dict(zip(COUNTED, map(float, cells[1:]), strict=True)) for cells in rows(COSTS, "turn")}
    traffic_gb = month * (log["waited for"]["kB up"] + log["waited for"]["kB down"]) / 1e6
    sums = {
        "storage: queues and tables": month * use["queue and table operations"] * queue_call,
        "storage: the threads' log": month * operations(log["waited for"]) * price["table operations"] / 1e4,
        "the same, if each turn is streamed": month * operations(log["streamed"]) * price["table operations"] / 1e4,
        "private endpoints of storage (`VNET_ENABLED`)": 3 * 24 * DAYS * price["private endpoint hours"]
        + traffic_gb * price["private endpoint traffic"],
        "polling, where an instance is always up": QUEUES * SECONDS_OF_A_DAY * DAYS * queue_call,
        "executions": max(0, month * use["executions"] - price["free executions"]) * price["executions"] / 1e6,
        "two instances kept warm (`ALWAYS_READY_INSTANCES`)": always_up * price["always-ready time"],
        "instance time": (min(alone, always_up) - price["free instance time"]) * price["instance time"],
    }

    assert {name: round(value, 2) for name, value in sums.items()} == numbers("a month", column)


def operations(use: dict[str, float]) -> float:
    """How many operations of the log a turn costs, whatever each does."""
    return sum(use[kind] for kind in COUNTED[:3])
