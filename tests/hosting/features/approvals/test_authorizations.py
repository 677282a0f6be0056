"""A tool that needs the user to sign in: the run waits for that user, and no token comes through the pause."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import httpx
import pytest
from agent_framework import Agent, tool

import hosting.app
from hosting.app import AgentFunctionApp
from hosting.ports import Clocks
from hosting.tools import current, idempotent
from tests.support.clerk import ClerksClient
from tests.support.engine_clocks import ManualClock
from tests.support.made_app import served
from tests.support.owned_app import ISSUER, RUN, THREADS, OwnedApp, owner, with_roles
from tests.support.signer import LINK, signer

THREAD = f"{THREADS}/t"
NOTES: list[str] = []
TOKENS: list[str] = []
"""What the service's own answer brought, in the test's place of a vault."""


@idempotent
@tool
async def fetch(n: str) -> str:
    """Ask for a sign-in while there is no token, and then a question."""
    while not TOKENS:
        await current().authorization("GitHub", url=f"{LINK}{len(NOTES)}", scopes=["repo"])
        NOTES.append("signed in")
    return f"{n} to {await current().ask('Which branch?')}"


@idempotent
@tool
async def both(n: str) -> str:
    await current().authorization("GitHub", url=LINK, scopes=["repo"])
    await current().authorization("Graph", url="https://login.example/authorize", scopes=["Mail.Read", "User.Read"])
    return f"{n} of both"


@idempotent
@tool
async def shortly(n: str) -> str:
    await current().authorization("GitHub", url=LINK, seconds=60)
    return n


@tool
async def careless(n: str) -> str:
    await current().authorization("GitHub", url=LINK)
    return n


@idempotent
@tool(approval_mode="always_require")
async def refund(n: str) -> str:
    await current().authorization("Bank", url=LINK)
    return f"refunded {n}"


@idempotent
@tool
async def linked(n: str) -> str:
    await current().authorization("GitHub", url=n)
    return n


@idempotent
@tool
async def after(n: str) -> str:
    await current().authorization("GitHub", url=LINK)
    branch, user = await current().ask("Which branch?"), current().principal
    return f"{n} to {branch} by {'nobody' if user is None else user.id}"


TOOLS = [fetch, both, shortly, careless, refund, linked]


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    NOTES.clear()
    TOKENS.clear()
    agent = Agent(ClerksClient(), name="Clerk", tools=TOOLS)
    async with served(AgentFunctionApp(agents=[agent], environ={"AGENT_LOG": "memory"})) as (_, http):
        yield http


async def say(http: httpx.AsyncClient, message: str) -> dict[str, Any]:
    """Send a message; return the answer."""
    return dict((await http.post(RUN, json={"message": message, "thread_id": "t"})).json())


async def answer(http: httpx.AsyncClient, asked: dict[str, Any], **body: Any) -> dict[str, Any]:
    """Answer what is asked; return what comes of it."""
    return dict((await http.post(f"{THREAD}/approvals/{asked['id']}", json=body or {"approved": True})).json())


@pytest.mark.behaviour("authorizations.answered")
async def test_the_run_waits_with_the_link_and_goes_on_with_the_sign_in(http: httpx.AsyncClient) -> None:
    (asked,) = (await say(http, "call fetch 5"))["pending_approvals"]
    TOKENS.append("secret")
    (question,) = (await answer(http, asked))["pending_approvals"]
    end = await answer(http, question, value="main")

    shown = {name: asked[name] for name in ("kind", "tool", "arguments", "authorization")}
    assert shown == {
        "kind": "authorization",
        "tool": "fetch",
        "arguments": {"n": "5"},
        "authorization": {"service": "GitHub", "url": f"{LINK}0", "scopes": ["repo"]},
    }
    assert "answer_schema" not in asked
    assert (question["kind"], end["response"], NOTES) == ("ask", "told: 5 to main", [])


@pytest.mark.behaviour("authorizations.answered")
async def test_a_reader_of_plain_text_reads_where_to_sign_in(http: httpx.AsyncClient) -> None:
    said = await http.post(f"{RUN}?thread_id=t", content="call fetch 5", headers={"content-type": "text/plain"})
    (asked,) = (await http.get(f"{THREAD}/approvals")).json()["approvals"]

    assert f"Waits for a sign-in {asked['id']}: fetch: sign in to GitHub (repo) at {LINK}0\n" in said.text
    assert 'POST {"approved": true}' in said.text


WRONG_ANSWERS = [
    {"value": "a token"},
    {"error": "none"},
    {"approved": True, "reason": "gho_token"},
    {"approved": True, "arguments": {"n": "6"}},
    {"approved": True, "always": "tool"},
    {"approved": True, "token": "a token"},
]


@pytest.mark.behaviour("authorizations.no-secret")
async def test_an_answer_that_could_carry_a_token_is_refused(http: httpx.AsyncClient) -> None:
    (asked,) = (await say(http, "call fetch 5"))["pending_approvals"]
    for body in WRONG_ANSWERS:
        refused = await http.post(f"{THREAD}/approvals/{asked['id']}", json=body)

        assert (refused.status_code, refused.json()["code"] in ("invalid_input", "unknown_field")) == (400, True)
        assert len((await http.get(f"{THREAD}/approvals")).json()["approvals"]) == 1
        assert "token" not in (await http.get(f"{THREAD}/export")).text


WRONG_LINKS: list[tuple[Any, ...]] = [
    ("http://github.example/authorize", "begins with 'http' and leads to 'github.example'"),
    ("javascript://github.example/%0aalert(1)", "begins with 'javascript'"),
    ("https://github.example@evil.example/", "has a user's name before its host"),
    ("https://github.example\\@evil.example/", "is no address of 1 to 2048 ASCII characters"),
    ("https://github.ехample/", "is no address of 1 to 2048 ASCII characters"),
    ("https://a.example/" + "a" * 2048, "is no address of 1 to 2048 ASCII characters"),
    ("https:/authorize?token=t0ps3cret", "is no absolute address"),
    ("https://a.example:x/", "is no absolute address"),
    ("https://a.example/?Access_Token=t0ps3cret", "has the parameter 'access_token'"),
    ("https://a.example/cb?code=t0ps3cret", "has the parameter 'code'"),
    ("https://a.example/?state=1;token=t0ps3cret", "has the parameter 'token'"),
    ("https://a.example/#id_token=t0ps3cret", "has the parameter 'id_token'"),
]


@pytest.mark.behaviour("authorizations.no-secret")
async def test_a_link_that_is_none_or_carries_a_secret_ends_the_run(http: httpx.AsyncClient) -> None:
    for link, why in WRONG_LINKS:
        end = await say(http, f"call linked n={link}")

        assert end["code"] == "run_failed"
        assert "Tool 'linked' asks for a sign-in that nobody can make. The link " in end["detail"]
        assert why in end["detail"]
        assert "t0ps3cret" not in end["detail"]


@pytest.mark.behaviour("authorizations.no-secret")
@pytest.mark.parametrize(
    "link",
    [
        "http://localhost:8080/authorize",
        "http://127.0.0.1/x",
        "http://[::1]:5000/",
        "https://a.example/authorize?response_type=code&code_challenge=x",
    ],
)
async def test_a_link_of_this_machine_may_be_http(http: httpx.AsyncClient, link: str) -> None:
    """Any other is https; `code` may be the type of an answer."""
    (asked,) = (await say(http, f"call linked n={link}"))["pending_approvals"]

    assert asked["authorization"] == {"service": "GitHub", "url": link, "scopes": []}


@pytest.mark.behaviour("authorizations.once")
async def test_of_many_answers_at_once_one_counts(http: httpx.AsyncClient) -> None:
    (asked,) = (await say(http, "call both 5"))["pending_approvals"]
    granted, refused = {"approved": True}, {"approved": False, "reason": "no"}

    answers = await asyncio.gather(*(answer(http, asked, **body) for body in (granted, refused, granted, refused)))

    assert [one.get("code") for one in answers].count("approval_answered") == 2


@pytest.mark.behaviour("authorizations.idempotent")
async def test_a_tool_that_may_not_be_called_again_may_not_ask_for_a_sign_in(http: httpx.AsyncClient) -> None:
    end = await say(http, "call careless 5")

    assert (end["code"], "Mark it @idempotent" in end["detail"]) == ("run_failed", True)


@pytest.mark.behaviour("authorizations.expires")
async def test_a_sign_in_expires_after_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    clocks = Clocks(wall=lambda: clock.now().timestamp())
    monkeypatch.setattr(hosting.app, "Services", partial(hosting.app.Services, clocks=clocks))
    agent = Agent(ClerksClient(), name="Clerk", tools=TOOLS)
    async with served(AgentFunctionApp(agents=[agent], environ={"AGENT_LOG": "memory"})) as (_, http):
        (asked,) = (await say(http, "call shortly 5"))["pending_approvals"]
        clock.advance(61)
        late = await answer(http, asked)
        await say(http, "hello")
        export = (await http.get(f"{THREAD}/export")).text

    assert late["code"] == "approval_expired"
    assert "This call did not end: the user did not sign in in time." in export


class TestOwners:
    """Whose sign-in is waited for, in an app whose users sign in."""

    @pytest.fixture
    async def owned(self) -> AsyncIterator[OwnedApp]:
        """One process; Ada shares the thread "t" with Bob, who may run it."""
        NOTES.clear()
        app = OwnedApp(with_roles, agent=signer(NOTES.append), AGENT_ADMIN_ROLE="operators")
        async with app.http:
            await app.say("ada", "hello")
            yield app

    async def grant(self, owned: OwnedApp) -> str:
        """Return the grant of Bob, who may run the thread."""
        body = {"issuer": ISSUER, "id": "bob", "access": "run"}
        return str((await owned.ask("ada", "POST", f"{THREAD}/grants", json=body)).json()["grant"])

    @pytest.mark.behaviour("authorizations.user")
    @pytest.mark.parametrize("approved", [True, False])
    async def test_nobody_answers_for_the_user_who_began_the_run(self, owned: OwnedApp, approved: bool) -> None:
        """Neither whoever has a grant to run the thread, nor an administrator; then the user does."""
        shared = f"/api/shared/{await self.grant(owned)}/approvals"
        (asked,) = (await owned.say("ada", "call push 5"))["pending_approvals"]

        paths = [("bob", f"{shared}/{asked['id']}"), ("root", f"{THREAD}/approvals/{asked['id']}?owner={owner('ada')}")]
        others = [await owned.ask(who, "POST", path, json={"approved": approved}) for who, path in paths]
        end = (await owned.ask("ada", "POST", f"{THREAD}/approvals/{asked['id']}", json={"approved": True})).json()

        assert [(one.status_code, one.json()["code"]) for one in others] == [(403, "forbidden")] * 2
        assert "waits for the sign-in of the user for whom it is called" in others[0].json()["detail"]
        assert (end["response"], NOTES) == ("told: branch 5 pushed by ada", ["reserve 5", "push 5"])

    @pytest.mark.behaviour("authorizations.user")
    async def test_a_sign_in_stands_for_no_other_user_for_whom_the_call_goes_on(self) -> None:
        owned = OwnedApp(agent=Agent(ClerksClient(), name="Clerk", tools=[after]))
        async with owned.http:
            await owned.say("ada", "hello")
            shared = f"/api/shared/{await self.grant(owned)}/approvals"
            (first,) = (await owned.say("ada", "call after 5"))["pending_approvals"]
            path, yes = f"{THREAD}/approvals/{first['id']}", {"approved": True}
            (question,) = (await owned.ask("ada", "POST", path, json=yes)).json()["pending_approvals"]
            answered = await owned.ask("bob", "POST", f"{shared}/{question['id']}", json={"value": "main"})
            (second,) = answered.json()["pending_approvals"]
            by_ada = await owned.ask("ada", "POST", f"{THREAD}/approvals/{second['id']}", json=yes)
            by_bob = await owned.ask("bob", "POST", f"{shared}/{second['id']}", json=yes)

        assert (second["kind"], by_ada.status_code) == ("authorization", 403)
        assert by_bob.json()["response"] == "told: 5 to main by bob"
