"""Keys: who may call what when the host is started with `--auth`; and pages of other origins."""

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
MASTER = {"x-functions-key": "m"}


def keyed_app(folder: Path) -> Path:
    return Path(shutil.copytree(APPS / "keyed", folder / "app", ignore=shutil.ignore_patterns(".devhost")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = keyed_app(tmp_path_factory.mktemp("keyed"))
    (folder / ".devhost").mkdir()
    (folder / ".devhost" / "keys.json").write_text(json.dumps(KEYS))
    return folder


@pytest.fixture(scope="module")
def keyed_host(folder: Path) -> Iterator[RunningHost]:
    with RunningHost(folder, "--port", "0", "--auth") as host:
        yield host


@pytest.fixture(scope="module")
def keyed(keyed_host: RunningHost) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=keyed_host.origin, timeout=GUARD_SECONDS) as client:
        yield client


@pytest.mark.behaviour("devhost.keys")
@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        ("/api/open", {"": 200}),
        ("/api/closed", {"": 401, "wrong": 401, "c": 200, "o": 401, "h": 200, "m": 200, "d": 401}),
        ("/api/masters", {"h": 401, "m": 200}),
        ("/api/nowhere", {"": 404}),
        ("/", {"": 200}),
        ("/admin/host/ping", {"": 200}),
        ("/admin/host/status", {"": 401}),
        ("/admin/functions", {"h": 401, "m": 200}),
        (INSTANCES, {"": 401, "wrong": 401, "h": 403, "t": 403, "d": 200, "m": 200}),
        ("/runtime/webhooks/nowhere", {"": 401, "m": 404}),
    ],
)
@pytest.mark.parametrize("place", ["headers", "params"])
def test_a_key_opens_what_it_is_for(keyed: httpx.Client, path: str, statuses: dict[str, int], place: str) -> None:
    """In the header or as `code` in the query; a refusal is empty, and one by the host itself names the scheme."""
    name = "x-functions-key" if place == "headers" else "code"
    for key, status in statuses.items():
        answer = keyed.get(path, **{place: {name: key}})  # type: ignore[arg-type]

        assert (answer.status_code, answer.content == b"" or status == 200) == (status, True), key
        is_refused_by_the_host = status == 401 and not path.startswith("/api/")
        assert answer.headers.get("www-authenticate") == ("Bearer" if is_refused_by_the_host else None)


@pytest.mark.behaviour("devhost.keys")
@pytest.mark.behaviour("devhost.inspect")
def test_the_durable_clients_addresses_carry_the_key_and_the_engine_is_looked_at(
    folder: Path, keyed: httpx.Client
) -> None:
    """By a route, and by a command beside the host."""
    started = keyed.get("/api/start")
    one, everything = (keyed.get(f"/admin/durable{path}", headers=MASTER).text for path in ("/one", ""))
    printed, missing = (run_command(folder, "inspect", name, begins=Begins.WARM).stdout for name in ("one", "nobody"))

    assert keyed.get(started.json()["statusQueryGetUri"]).status_code in (200, 202)
    assert "&code=d" in started.headers["location"]
    assert "Orchestrations" in everything
    assert printed.split()[:2] == one.split()[:2] == ["one", "hello"]
    assert "There is no instance" in missing


@pytest.mark.behaviour("devhost.keys-command")
def test_keys_are_made_once_and_printed(tmp_path: Path) -> None:
    folder = keyed_app(tmp_path)
    short, first, second = (
        run_command(folder, "keys", *options, begins=Begins.WARM).stdout for options in ([], ["--all"], ["--all"])
    )

    names, values = zip(*(line.split(": ") for line in first.splitlines()), strict=True)
    assert names[:4] == ("master", "host", "system durabletask_extension", "system mcp_extension")
    assert (names[4], len(set(values))) == ("function anonymous", len(values))
    rest = f"{len(names) - 4} more with --all: keys of single functions"
    assert (first, short.splitlines()) == (second, [*first.splitlines()[:4], rest])


@pytest.mark.behaviour("devhost.run-by-hand")
def test_a_timer_is_run_by_hand(keyed_host: RunningHost, keyed: httpx.Client) -> None:
    """Whatever its schedule says; a function with a door of its own is not."""
    ran, refused, unknown = (
        keyed.post(f"/admin/functions/{name}", json={"input": ""}, headers=MASTER)
        for name in ("Yearly", "hello", "nowhere")
    )
    keyed_host.wait_for("a year is over")

    assert (ran.status_code, refused.status_code, unknown.status_code) == (202, 400, 404)
    assert refused.text.startswith(
        "Timers alone are run by hand here, and messages sent to Service Bus and the like; 'hello' is a"
    )


@pytest.mark.behaviour("devhost.cors")
def test_pages_of_the_named_origins_may_call_and_no_others(keyed: httpx.Client) -> None:
    """Local settings name them; a preflight is answered before any function and any key."""
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "x-a"}
    page = {"origin": "https://page.test", "sec-fetch-site": "cross-site"}
    preflight = keyed.options("/api/closed", headers={**page, **asked})
    answers = [preflight, keyed.get("/api/open", headers=page), keyed.post("/api/open", headers=page)]
    verbs, evil = ("OPTIONS", "GET", "POST"), {"origin": "https://evil.test", **asked}
    refused = [keyed.request(verb, "/api/open", headers=evil) for verb in verbs]

    assert [answer.status_code for answer in (*answers, *refused)] == [204, 200, 200, 403, 403, 403]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == "https://page.test"
        assert answer.headers["access-control-allow-credentials"] == "true"
    assert preflight.headers["access-control-allow-headers"] == "x-a"
    assert not any("access-control-allow-origin" in answer.headers for answer in refused)
