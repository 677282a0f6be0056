"""Keys: who may call what when the host is started with `--auth`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.running_host import APPS, GUARD_SECONDS, RunningHost, run_command
from tests.support.warm_python import Begins

pytestmark = pytest.mark.slow

KEYS = {
    "master": "m",
    "host": "h",
    "functions": {"closed": "c", "other": "o"},
    "system": {"durabletask_extension": "d", "mcp_extension": "t"},
}
INSTANCES = "/runtime/webhooks/durabletask/instances"


@pytest.fixture(scope="module")
def keyed_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keyed") / "app"
    shutil.copytree(APPS / "keyed", folder, ignore=shutil.ignore_patterns(".devhost"))
    (folder / ".devhost").mkdir()
    (folder / ".devhost" / "keys.json").write_text(json.dumps(KEYS))
    return folder


@pytest.fixture(scope="module")
def keyed_host(keyed_folder: Path) -> Iterator[RunningHost]:
    with RunningHost(keyed_folder, "--port", "0", "--auth") as host:
        yield host


@pytest.fixture
def client(keyed_host: RunningHost) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=keyed_host.origin, timeout=GUARD_SECONDS) as client:
        yield client


@pytest.mark.behaviour("devhost.keys")
@pytest.mark.parametrize(
    ("path", "key", "status"),
    [
        ("/api/open", "", 200),
        ("/api/closed", "", 401),
        ("/api/closed", "wrong", 401),
        ("/api/closed", "c", 200),
        ("/api/closed", "o", 401),
        ("/api/closed", "h", 200),
        ("/api/closed", "m", 200),
        ("/api/closed", "d", 401),
        ("/api/masters", "h", 401),
        ("/api/masters", "m", 200),
        ("/api/nowhere", "", 404),
        ("/", "", 200),
        ("/admin/host/ping", "", 200),
        ("/admin/host/status", "", 401),
        ("/admin/functions", "h", 401),
        ("/admin/functions", "m", 200),
        (INSTANCES, "", 401),
        (INSTANCES, "wrong", 401),
        (INSTANCES, "h", 403),
        (INSTANCES, "t", 403),
        (INSTANCES, "d", 200),
        (INSTANCES, "m", 200),
        ("/runtime/webhooks/nowhere", "", 401),
        ("/runtime/webhooks/nowhere", "m", 404),
    ],
)
@pytest.mark.parametrize("place", ["header", "query"])
def test_a_key_opens_what_it_is_for(client: httpx.Client, path: str, key: str, status: int, place: str) -> None:
    """In the header or as `code` in the query; a refusal is empty, and one by the host itself names the scheme."""
    given = {"headers": {"x-functions-key": key}} if place == "header" else {"params": {"code": key}}

    answer = client.get(path, **given)

    assert (answer.status_code, answer.content == b"" or status == 200) == (status, True)
    is_refused_by_the_host = status == 401 and not path.startswith("/api/")
    assert answer.headers.get("www-authenticate") == ("Bearer" if is_refused_by_the_host else None)


@pytest.mark.behaviour("devhost.keys")
def test_the_durable_clients_addresses_carry_the_key(client: httpx.Client) -> None:
    started = client.get("/api/start")

    assert client.get(started.json()["statusQueryGetUri"]).status_code in (200, 202)
    assert "&code=d" in started.headers["location"]


@pytest.mark.behaviour("devhost.keys-command")
def test_keys_are_made_once_and_printed(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    shutil.copytree(APPS / "keyed", folder, ignore=shutil.ignore_patterns(".devhost"))

    short, first, second = (
        run_command(folder, "keys", *options, begins=Begins.WARM) for options in ([], ["--all"], ["--all"])
    )

    names, values = zip(*(line.split(": ") for line in first.stdout.splitlines()), strict=True)
    assert names[:4] == ("master", "host", "system durabletask_extension", "system mcp_extension")
    assert names[4] == "function anonymous"
    assert len(set(values)) == len(values)
    assert first.stdout == second.stdout
    assert short.stdout.splitlines()[:4] == first.stdout.splitlines()[:4]
    assert short.stdout.splitlines()[4:] == [f"{len(names) - 4} more with --all: keys of single functions"]


@pytest.mark.behaviour("devhost.run-by-hand")
def test_a_timer_is_run_by_hand(keyed_host: RunningHost, client: httpx.Client) -> None:
    """Whatever its schedule says; a function with a door of its own is not."""
    headers = {"x-functions-key": "m"}
    ran = client.post("/admin/functions/Yearly", json={"input": ""}, headers=headers)
    keyed_host.wait_for("a year is over")
    refused = client.post("/admin/functions/hello", json={}, headers=headers)
    unknown = client.post("/admin/functions/nowhere", json={}, headers=headers)

    assert (ran.status_code, refused.status_code, unknown.status_code) == (202, 400, 404)
    assert refused.text.startswith(
        "Timers alone are run by hand here, and messages sent to Service Bus and the like; 'hello' is a"
    )


@pytest.mark.behaviour("devhost.inspect")
def test_the_engine_is_looked_at_by_route_and_by_command(
    keyed_folder: Path, keyed_host: RunningHost, client: httpx.Client
) -> None:
    client.get("/api/start")
    headers = {"x-functions-key": "m"}
    one = client.get("/admin/durable/one", headers=headers).text
    everything = client.get("/admin/durable", headers=headers).text

    assert "Orchestrations" in everything
    assert (
        run_command(keyed_folder, "inspect", "one", begins=Begins.WARM).stdout.split()[:2]
        == one.split()[:2]
        == ["one", "hello"]
    )
    assert "There is no instance" in run_command(keyed_folder, "inspect", "nobody", begins=Begins.WARM).stdout


ASKED = {"access-control-request-method": "POST", "access-control-request-headers": "x-a"}


@pytest.mark.behaviour("devhost.cors")
def test_pages_of_the_named_origins_may_call(client: httpx.Client) -> None:
    """Local settings name them; a preflight is answered before any function and any key."""
    page = {"origin": "https://page.test", "sec-fetch-site": "cross-site"}
    preflight = client.options("/api/closed", headers={**page, **ASKED})
    answers = [preflight, client.get("/api/open", headers=page), client.post("/api/open", headers=page)]

    assert [answer.status_code for answer in answers] == [204, 200, 200]
    for found in answers:
        assert found.headers["access-control-allow-origin"] == "https://page.test"
        assert found.headers["access-control-allow-credentials"] == "true"
    assert preflight.headers["access-control-allow-headers"] == "x-a"


@pytest.mark.behaviour("devhost.cors")
@pytest.mark.parametrize("method", ["OPTIONS", "GET", "POST"])
def test_pages_of_other_origins_are_refused(client: httpx.Client, method: str) -> None:
    """The preflight too, and none is told that it may call."""
    answer = client.request(method, "/api/open", headers={"origin": "https://evil.test", **ASKED})

    assert (answer.status_code, "access-control-allow-origin" in answer.headers) == (403, False)
