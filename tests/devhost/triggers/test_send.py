"""Messages that are sent by hand to functions of services that no laptop has."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.running_host import APPS, RunningHost, run_command
from tests.support.warm_python import Begins

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("devhost.send")]


class Sent:
    """A host of the app `sent`, and its command `send`."""

    def __init__(self, host: RunningHost, folder: Path) -> None:
        self.host, self.folder = host, folder

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `send`."""
        port = self.host.origin.rpartition(":")[2]
        return run_command(self.folder, "send", *arguments, "--port", port, begins=Begins.WARM)

    def deliver(self, function: str, *arguments: str) -> Any:
        """Send a message and return what its function printed."""
        finished = self.command(function, *arguments)
        assert finished.returncode == 0, finished.stderr
        return json.loads(self.host.wait_for(f"{function} {{").partition(" ")[2])


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sent]:
    """One host for all messages; it asks for keys, which the command finds in its folder."""
    folder = shutil.copytree(APPS / "sent", tmp_path_factory.mktemp("sent") / "app")
    with RunningHost(folder, "--port", "0", "--auth") as host:
        yield Sent(host, folder)


def test_the_start_says_which_functions_listen_to_nothing(sent: Sent) -> None:
    sent.host.wait_for("order: ")
    line = next(line for line in sent.host.printed if line.startswith("\torder: "))
    assert line == (
        "\torder: serviceBusTrigger (listens to nothing here: the command `send order --body TEXT` delivers a message)"
    )


def test_a_service_bus_message_has_its_ids(sent: Sent) -> None:
    """An id of its own, a growing sequence number; other metadata are its application properties."""
    first = sent.deliver("order", "--body", "hello é", "--session", "s1", "--metadata", "subject=new")
    second = sent.deliver("order", "--body", "bad", "--metadata", "MessageId=m1", "--metadata", "deliverycount=3")
    third = sent.deliver("order", "--body", "x", "--metadata", "Tenant=acme=1")

    assert (first["body"], first["session"], first["subject"], first["count"]) == ("hello é", "s1", "new", 1)
    assert len(first["id"]) == 32
    assert first["lasts"] == "14 days, 0:00:00"
    assert first["number"] < second["number"] < third["number"]
    assert (second["id"], second["count"], second["session"]) == ("m1", 3, None)
    assert third["properties"] == {"Tenant": "acme=1"}


def test_each_binding_gets_its_own_shape(sent: Sent) -> None:
    orders = sent.deliver("orders", "--body", "a", "--metadata", "MessageId=m1", "--metadata", "Tenant=acme")
    measured = sent.deliver("measured", "--body", '{"c": 20}', "--metadata", "PartitionKey=p")
    happened = sent.deliver("happened", "--body", '{"x": 1}', "--metadata", "subject=a/b")

    assert orders == {"all": [["a", "m1", {"Tenant": "acme"}]]}
    assert (measured["body"], measured["key"]) == ('{"c": 20}', "p")
    assert (happened["type"], happened["subject"], happened["content"]) == ("Local.Sent", "a/b", {"x": 1})
    assert len(happened["id"]) == 36
    assert sent.deliver("plain", "--body", "{}") == {"text": "{}"}
    assert sent.deliver("measures", "--body", "a") == {"all": ["a"]}
    assert sent.deliver("by_session", "--body", "a", "--session", "s1") == {"session": "s1"}


def test_a_whole_event_is_taken_as_it_is(sent: Sent, tmp_path: Path) -> None:
    event = {"id": "e1", "eventType": "Order.Placed", "subject": "orders/1", "data": {"total": 3}, "topic": "t"}
    (tmp_path / "event.json").write_text(json.dumps(event | {"eventTime": "2026-01-01T00:00:00Z", "dataVersion": "1"}))
    shown = sent.deliver("happened", "--body", f"@{tmp_path / 'event.json'}")
    assert shown == {"id": "e1", "type": "Order.Placed", "subject": "orders/1", "content": {"total": 3}}


def test_documents_of_a_change_feed_have_what_the_service_adds(sent: Sent) -> None:
    first = sent.deliver("changed", "--body", '{"name": "a"}')
    second = sent.deliver("changed", "--body", '[{"id": "1", "_lsn": 7}, {"id": "2"}]')

    assert sorted(first["all"][0]) == ["_etag", "_lsn", "_rid", "_ts", "id", "name"]
    assert [(document["id"], document["_lsn"] == 7) for document in second["all"]] == [("1", True), ("2", False)]


REFUSED: list[tuple[str, str]] = [
    ("by_session --body a", "The function listens to sessions. Give --session with the session's id."),
    ("measured --body a --session s", "The trigger eventHubTrigger has no sessions. Leave --session out."),
    ("changed --body x", "The body must be a JSON document, or a list of them, but it is no JSON"),
    ("changed --body []", "The body must be a JSON document, or a list of them."),
    ("changed --body {} --metadata a=b", "A change feed has no metadata."),
    ("happened --body {} --metadata a=b", "An event has no member a; it has id, topic, subject"),
    ("order --body a --metadata DeliveryCount=x", "DeliveryCount must be a whole number"),
    ("order --body a --metadata x", "--metadata 'x' has no value; give name=value."),
    ("order --body @nowhere", "nowhere cannot be read as UTF-8 text"),
    ("nobody --body a", "runs no function 'nobody'."),
    ("door --body a", "'door' is a httpTrigger. Call it by its own trigger."),
]


def test_what_is_never_delivered_is_refused_by_a_sentence(sent: Sent) -> None:
    for arguments, sentence in REFUSED:
        finished = sent.command(*arguments.split())
        assert (finished.returncode, sentence in finished.stderr) == (1, True), finished.stderr


def test_the_real_hosts_endpoint_takes_the_message(sent: Sent) -> None:
    """`POST /admin/functions/{name}` with `input`, whose JSON is sent as a text."""
    keys = json.loads((sent.folder / ".devhost" / "keys.json").read_text())
    bodies = {
        b"": 202,
        b'{"input": {"a": 1}}': 202,
        b"[]": 400,
        b"{": 400,
        b'{"metadata": 1}': 400,
        b'{"session": 1}': 400,
    }
    address, headers = f"{sent.host.origin}/admin/functions/order", {"x-functions-key": keys["master"]}
    assert {body: httpx.post(address, content=body, headers=headers).status_code for body in bodies} == bodies
