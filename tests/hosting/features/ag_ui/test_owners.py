"""Each caller has threads of their own, as on our own routes."""

from __future__ import annotations

import pytest

from hosting.app import Principal, PrincipalRequest
from tests.support.ag_ui import Wired, events_of, text_of, wanted

pytestmark = pytest.mark.behaviour("ag-ui.owners")

ADA, BOB = {"x-user": "ada"}, {"x-user": "bob"}


def signed_in(request: PrincipalRequest) -> Principal | None:
    """Return whom the header names."""
    name = request.headers.get("x-user")
    return None if name is None else Principal("https://login.example", name)


async def test_anothers_thread_is_not_there() -> None:
    """The same ids of thread and run are another thread and another run; who is not signed in is refused."""
    wired = Wired(principal=signed_in)
    async with wired.http as http:
        secret, question = wanted("my secret"), wanted("recall", run="r-2")
        await http.post("ag-ui/Joker", json=secret, headers=ADA)
        bob = await http.post("ag-ui/Joker", json=question, headers=BOB)
        ada = await http.post("ag-ui/Joker", json=question, headers=ADA)
        unsigned = await http.post("ag-ui/Joker", json=secret)

    assert text_of(events_of(bob.text)) == "recall"
    assert text_of(events_of(ada.text)) == "my secret | recall"
    assert (unsigned.status_code, unsigned.json()["type"], unsigned.json()["code"]) == (
        *(401, "RUN_ERROR", "unauthorized"),
    )


async def test_a_form_of_another_site_begins_no_run(wired: Wired) -> None:
    """As on our own routes."""
    headers = {"sec-fetch-site": "cross-site", "content-type": "text/plain"}
    answer = await wired.http.post("ag-ui/Joker", content="{}", headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (403, "cross_site")
