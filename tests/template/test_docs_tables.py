"""The tables of deploying.md, deployment.md and costs.md, held against the files that they tell of."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.page_tables import rows
from tests.template.bicep import INFRA, ROOT, parsed

DEPLOYING = (ROOT / "docs" / "guides" / "deploying.md").read_text(encoding="utf-8")
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


def test_every_choice_of_a_deployment_stands_in_the_page_with_its_default() -> None:
    """By the variable that azd fills the parameter from."""
    parameters = json.loads((INFRA / "main.parameters.json").read_text(encoding="utf-8"))["parameters"].values()
    filled = [re.fullmatch(r"\${(\w+)(?:=(.*))?}", parameter["value"]) for parameter in parameters]
    received = {cells[0].strip("`"): cells[1] for cells in rows(DEPLOYMENT, "name")}

    assert set(received) == {found[1] for found in filled if found}
    assert {found[1]: found[2] for found in filled if found and found[2]}.items() <= received.items()


def test_every_role_of_the_apps_identity_stands_in_the_page() -> None:
    """By the names that the files describe them with; a reviewer reads the page first."""
    texts = [(INFRA / "app" / f"{name}.bicep").read_text(encoding="utf-8") for name in ("rbac", "secrets")]
    given = {
        name
        for text in texts
        for name in re.findall(r"(?:@description\('|^  ')([A-Z][\w -]+)(?:: to|':)", text, re.MULTILINE)
    }

    assert {cells[0] for cells in rows(DEPLOYING, "role")} == {name.split(": ")[0] for name in given}


def test_every_output_that_the_page_names_is_one() -> None:
    """Whoever types them in finds them."""
    named = {name for name in ("BASE_URL", "MCP_URL", "GET_FUNCTION_KEY", "GET_MCP_KEY") if f"`{name}`" in DEPLOYING}

    assert named <= set(parsed(INFRA / "main.bicep")["outputs"])
    assert len(named) == 4


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


def test_a_turn_s_use_of_the_log_is_that_of_a_turn_that_is_waited_for() -> None:
    """Two tables, one count."""
    counted = next(cells[1:4] for cells in rows(COSTS, "turn") if cells[0] == "waited for")

    assert numbers("of one turn")["operations of the log"] == sum(map(float, counted))
