"""What every door promises of a run that waits: for a person's decision, a sign-in, or a tool of the caller."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
import pytest
from agent_framework import FunctionTool

from tests.support.clerk import clerk
from tests.support.direct import DirectHost
from tests.support.doors import DOORS, Asked, Door, all_doors, client_of
from tests.support.owned_app import signed_in
from tests.support.signer import LINK, signer

NUMBERS = itertools.count(1)
PAUSING = [door for door in DOORS if door.pausing is not None]
pytestmark = [
    *(pytest.mark.behaviour(name) for name in ("responses.approvals", "ag-ui.interrupts", "ai-sdk.approvals")),
    pytest.mark.behaviour("a2a.approvals"),
]


@pytest.fixture(scope="module")
def notes() -> list[str]:
    """What the clerk's tools did."""
    return []


@pytest.fixture(scope="module")
def host(notes: list[str]) -> DirectHost:
    """The clerk, who may also let the user sign in, and ask where somebody is, which only the caller knows."""
    agent = clerk(notes.append)
    where: Any = FunctionTool(name="where", func=None, description="Where the person is.")
    agent.default_options["tools"] += [*signer(notes.append).default_options["tools"], where]
    return DirectHost(all_doors(agent))


@pytest.fixture(params=PAUSING, ids=lambda door: door.name)
def door(request: pytest.FixtureRequest) -> Door:
    door: Door = request.param
    return door


def called(notes: list[str], tool: str) -> list[str]:
    return [note for note in notes if note == tool or note.startswith(f"{tool} ")]


async def waiting(http: httpx.AsyncClient, door: Door, words: str, user: str | None = None) -> Any:
    """Return a request of the clerk, on a new thread, and the answer, whose calls wait."""
    asked = Asked(words, thread=f"{door.name}-{next(NUMBERS)}", agent="Clerk")
    return asked, await door.post(http, asked, door.body(asked), user)


async def test_an_approved_call_is_made_once_however_often_it_is_answered(
    http: httpx.AsyncClient, door: Door, notes: list[str]
) -> None:
    asked, waits = await waiting(http, door, f"call refund {door.name}-1")
    before = called(notes, f"refund {door.name}-1")
    done, again = [await door.decide(http, asked, waits, True) for _ in range(2)]

    assert (door.pausing.tools(waits), before) == (["refund"], [])  # type: ignore[union-attr]
    assert door.text(done).endswith(f"told: refunded {door.name}-1")
    assert door.text(again) == door.text(done)
    assert len(called(notes, f"refund {door.name}-1")) == 1


async def test_all_calls_are_answered_together_and_a_refused_one_is_not_made(
    http: httpx.AsyncClient, door: Door, notes: list[str]
) -> None:
    """One answer alone is refused, and nothing is recorded of it."""
    names = [f"{door.name}-{number}" for number in (2, 3)]
    asked, waits = await waiting(http, door, f"call refund {names[0]}, refund {names[1]}")
    alone = await door.decide(http, asked, waits, True)
    done = await door.decide(http, asked, waits, False, True)

    assert "is missing. Send all answers together." in alone.text
    assert door.text(done).endswith(f" | refunded {names[1]}")
    assert [called(notes, f"refund {name}") == [] for name in names] == [True, False]


@pytest.mark.behaviour("authorizations.answered")
async def test_a_sign_in_is_asked_for_with_its_link(http: httpx.AsyncClient, door: Door) -> None:
    """And the call goes on once the user says that it is done."""
    asked, waits = await waiting(http, door, f"call push {door.name}-4")
    done = await door.decide(http, asked, waits, True)

    assert LINK in waits.text.replace("\\", "")
    assert door.text(done).endswith(f"told: branch {door.name}-4 pushed by the app")


@pytest.mark.behaviour("responses.functions")
@pytest.mark.behaviour("ag-ui.client-tools")
@pytest.mark.behaviour("ai-sdk.client-tools")
@pytest.mark.behaviour("a2a.client-tools")
async def test_the_results_of_the_callers_tools_go_on_beside_a_decision(
    http: httpx.AsyncClient, door: Door, notes: list[str]
) -> None:
    """Several at once; the app's own tool was called before."""
    asked, waits = await waiting(http, door, f"call where 1, look {door.name}-5, refund {door.name}-6, where 4")
    by_tool = iter(["here", "there"])
    given = [True if name == "refund" else next(by_tool) for name in door.pausing.tools(waits)]  # type: ignore[union-attr]
    done = await door.decide(http, asked, waits, *given)

    assert door.text(done).endswith(f"told: here | saw {door.name}-5 | refunded {door.name}-6 | there")
    assert called(notes, f"look {door.name}-5") == [f"look {door.name}-5"]


@pytest.mark.behaviour("owners.by-construction")
async def test_a_call_is_answered_by_its_own_caller_alone(door: Door) -> None:
    """To another one there is no such run."""
    async with client_of(DirectHost(all_doors(clerk(str), principal=signed_in))) as http:
        asked, waits = await waiting(http, door, "call refund 7", "ada")
        others = await door.decide(http, asked, waits, True, user="bob")
        own = await door.decide(http, asked, waits, True, user="ada")

    assert door.refusal(others)[1] in ("unknown_run", "unknown_approval", "unknown_thread")
    assert door.text(own).endswith("told: refunded 7")
