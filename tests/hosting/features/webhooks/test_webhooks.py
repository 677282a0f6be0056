"""Webhooks: who is told how a run ended, how it is signed, and where nothing is ever sent to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hosting.core.hooks import ENTITY
from hosting.errors import ConfigurationError
from hosting.features.webhooks.client import post
from hosting.features.webhooks.delivery import WEBHOOK_CLOCK
from hosting.outside import is_outside
from tests.support.app.scripted import scripted_agent
from tests.support.desk import Desk
from tests.support.made_app import MEMORY, app_of, ask, served
from tests.support.receiver import OLDER_SECRET, SECRET, WEBHOOKS, Received, Receiver, receiving

RUN = "/api/agents/Joker/threads/t/runs"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


@pytest.mark.behaviour("webhooks.told")
async def test_a_receiver_is_told_how_a_run_ended_and_the_official_verifier_takes_it(receiver: Receiver) -> None:
    """With the older of two secrets too, while one replaces the other; and of what was said nothing is told."""
    environ = {**WEBHOOKS, "AGENT_WEBHOOK_SECRET": f"{SECRET} {OLDER_SECRET}"}
    async with served(app_of(scripted_agent("Joker"), environ=environ)) as (_, http):
        run_id = (await ask(http, "say a secret", thread_id="t", webhook=f"{receiver.url}/hook?a=1")).json()["run_id"]
        received = await receiver.next()
        shown = await http.get(received.message["data"]["run_url"])

    told = received.verified()
    assert received.verified(OLDER_SECRET) == told
    assert (received.path, received.headers["content-type"], received.id) == (
        "/hook",
        "application/json",
        f"{run_id}-run-completed",
    )
    assert told.pop("timestamp").endswith("Z")
    data = {"agent": "Joker", "thread_id": "t", "run_id": run_id, "status": "success", "run_url": f"{RUN}/{run_id}"}
    data |= {"finish_reason": None, "incomplete": False}
    assert told == {"type": "run.completed", "data": data}
    assert shown.json()["response"] == "a secret"


@pytest.mark.behaviour("webhooks.told")
async def test_a_run_without_an_answer_is_told_with_its_code(receiver: Receiver) -> None:
    """One that failed, and one that was cancelled while it waited, which never began."""
    async with served(app_of(scripted_agent("Joker"), environ=WEBHOOKS, webhook=receiver.url)) as (_, http):
        await ask(http, "fail please")
        failed = await receiver.next()
        first = asyncio.ensure_future(ask(http, "meet 2", thread_id="t"))
        while not (await http.get(RUN)).json().get("runs"):  # noqa: ASYNC110 - the app has no event for a test
            await asyncio.sleep(0.005)
        waiting = await ask(http, "say hello", thread_id="t", wait_for_response=False)
        await http.post(waiting.headers["location"] + "/cancel")
        last = (await ask(http, "meet 2")).json()["run_id"]
        await first
        ends = [await receiver.next() for _ in range(3)]

    assert _kind(failed) == ("run.failed", "failed", "run_failed")
    assert {_kind(one) for one in ends if one.message["data"]["run_id"] != last} == {
        ("run.completed", "success", None),
        ("run.cancelled", "cancelled", "run_cancelled"),
    }


@pytest.mark.behaviour("webhooks.told")
async def test_the_agents_receiver_and_the_requests_are_both_told_and_one_that_is_both_once(receiver: Receiver) -> None:
    agents = f"{receiver.url}/agents"
    async with served(app_of(scripted_agent("Joker"), environ=WEBHOOKS, webhook=agents)) as (host, http):
        await ask(http, "say 1", webhook=f"{receiver.url}/requests")
        both = [await receiver.next(), await receiver.next()]
        await ask(http, "say 2", webhook=agents)
        once = await receiver.next()
        await host.entities.idle()

    assert sorted(one.path for one in both) == ["/agents", "/requests"]
    assert both[0].id == both[1].id != once.id
    assert receiver.arrived.empty()


@pytest.mark.behaviour("webhooks.told")
async def test_a_receiver_is_told_that_an_approval_is_asked_and_how_the_run_behind_it_ended(receiver: Receiver) -> None:
    """By its id, with which it is answered; not what the tool would be called with."""
    desk = Desk(**WEBHOOKS)
    async with desk.http:
        asked = (await desk.say("call refund 5", webhook=receiver.url)).json()
        approval = await receiver.next()
        await desk.answer(asked["pending_approvals"][0]["id"])
        end = await receiver.next()

    told = approval.verified()
    assert told["type"] == "approval.requested"
    assert told["data"]["approvals"] == [one["id"] for one in asked["pending_approvals"]]
    assert told["data"]["kinds"] == ["approve"]
    assert told["data"]["approvals_url"] == "/api/agents/Clerk/threads/t/approvals"
    assert _kind(end) == ("run.completed", "success", None)
    assert end.message["data"]["run_id"] != asked["run_id"]


@pytest.mark.behaviour("webhooks.inside")
async def test_a_redirect_is_no_answer_and_is_not_followed(receiver: Receiver) -> None:
    receiver.statuses = [307]
    async with served(app_of(scripted_agent("Joker"), environ=WEBHOOKS)) as (host, http):
        await ask(http, "say hello", webhook=f"{receiver.url}/hook")
        await host.entities.idle()

    assert (await receiver.next()).path == "/hook"
    assert receiver.arrived.empty()


@pytest.mark.behaviour("webhooks.inside")
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_nothing_is_sent_to_a_name_or_address_of_this_machine(receiver: Receiver, host: str) -> None:
    """The name is checked where it is resolved, by the connection itself."""
    url = receiver.url.replace("127.0.0.1", host)

    posted = await post(url, {}, b"{}", ())
    allowed = await post(url, {}, b"{}", (host,))

    assert (posted.status, posted.problem, allowed.status) == (None, "inside_network", 204)
    assert receiver.arrived.qsize() == 1


@pytest.mark.behaviour("webhooks.inside")
@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254"),
        *("168.63.129.16", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::"),
    ],
)
def test_an_address_inside_or_of_many_is_none_to_send_to(address: str) -> None:
    """Loopback, private, shared, link-local, the clouds' own, reserved, multicast; and v4 in each dress of v6."""
    assert not is_outside(address)


REFUSED = [
    "http://example.com/hook",
    "https://localhost/hook",
    "https://10.0.0.1/hook",
    "https://[::1]/hook",
    "https://0x7f.0.0.1/",
    "https://example.com\\@10.0.0.1/",
    "https://example.com:443@10.0.0.1/",
    "https://example.com /",
    "ftp://example.com/",
    "https://example.com./",
    "",
    7,
]
ADVISED = {
    f"https://example.com/{'a' * 2048}": "It has 2,068 characters. Name one of at most 2,048.",
    "https://b\u00fccher.example/": "Write its host as xn--...",
    "https://user:word@example.com/": "Leave out the user before the host",
    "https://example.com?x=1": "Write a / after the host.",
    "https://2130706433/": "Name an https address at a host with a name and a dot",
    "https://example.com:0/": "Name a port from 1 to 65535.",
    "https://example.com:65536/": "Name a port from 1 to 65535.",
}


@pytest.mark.behaviour("webhooks.inside")
async def test_an_address_that_may_lead_inside_is_refused_before_a_run_begins() -> None:
    async with served(app_of(scripted_agent("Joker"), environ=WEBHOOKS)) as (_, http):
        answers = [await ask(http, "say hello", thread_id="t", webhook=url) for url in [*REFUSED, *ADVISED]]
        taken = await ask(http, "say hello", wait_for_response=False, webhook="http://127.0.0.1:9/hook")
        none = await http.get("/api/agents/Joker/threads/t")

    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(400, "invalid_field")}
    assert (taken.status_code, none.status_code) == (202, 404)
    details = [answer.json()["detail"] for answer in answers[len(REFUSED) :]]
    assert [advice for advice, detail in zip(ADVISED.values(), details, strict=True) if advice not in detail] == []


async def test_without_a_secret_a_webhook_is_refused_at_the_border_and_at_start_up() -> None:
    app = app_of(scripted_agent("Joker"))
    async with served(app) as (host, http):
        refused = await ask(http, "say hello", webhook="https://example.com/")
        with pytest.raises(ConfigurationError, match=r"Agent 'Poet' has a webhook.*Set AGENT_WEBHOOK_SECRET"):
            app.add_agent(scripted_agent("Poet"), webhook="https://example.com/")

    assert refused.json()["code"] == "invalid_field"
    assert "AGENT_WEBHOOK_SECRET" in refused.json()["detail"]
    assert WEBHOOK_CLOCK not in host.functions


@pytest.mark.parametrize("secret", ["whsec_c2hvcnQ=", "c" * 44, f"{SECRET} x", f"whsec_{'a' * 33}"])
def test_a_secret_that_is_none_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(ConfigurationError, match="AGENT_WEBHOOK_SECRET") as refused:
        app_of(scripted_agent("Joker"), environ={**MEMORY, "AGENT_WEBHOOK_SECRET": secret})

    assert not any(part in str(refused.value).split() for part in secret.split())


@pytest.mark.parametrize("webhook", ["http://example.com", "https://10.0.0.1/"])
def test_a_webhook_of_an_agent_is_checked_at_start_up(webhook: str) -> None:
    with pytest.raises(ConfigurationError, match="Agent 'Joker': The webhook"):
        app_of(scripted_agent("Joker"), environ=WEBHOOKS, webhook=webhook)


@pytest.mark.behaviour("webhooks.deleted")
async def test_of_a_deleted_thread_nothing_is_told_any_more_and_its_receipt_counts_the_deliveries(
    receiver: Receiver,
) -> None:
    receiver.statuses = [500]
    async with served(app_of(scripted_agent("Joker"), environ=WEBHOOKS)) as (host, http):
        run_id = (await ask(http, "say hello", thread_id="t", webhook=receiver.url)).json()["run_id"]
        await host.entities.idle()
        await receiver.next()
        assert (await http.delete("/api/agents/Joker/threads/t")).status_code == 204
        order = {"agent": "joker", "thread_id": "t", "run_id": run_id, "target": "request", "tries": 1}
        result = await host.entities.call(ENTITY, "0", "post", order)
        receipt = (await http.get("/api/agents/Joker/threads/t/erasure")).json()

    assert not result["isError"]
    assert receiver.arrived.empty()
    assert (receipt["webhooks"], receipt["attachments"]) == (1, [])


def _kind(received: Received) -> tuple[Any, Any, Any]:
    data = json.loads(received.body)["data"]
    return received.verified()["type"], data["status"], data.get("code")
