"""What a browser sends for a page of another site without asking the host first."""

from __future__ import annotations

import pytest

from tests.support.carriers import Api

RUN = "/api/agents/Joker/run"
JOKE = '{"message": "Tell me a joke"}'
FORMS = (
    "text/plain",
    "Text/Plain; charset=utf-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=a",
)
ASKED_FIRST = {"content-type": "application/json"}, {"x-functions-key": "k"}, {"authorization": "Bearer t"}

pytestmark = pytest.mark.behaviour("http.other-sites")


@pytest.mark.parametrize(
    ("site", "content_type"),
    [("anything", FORMS[0]), ("same-site", FORMS[0]), *(("cross-site", form) for form in FORMS)],
)
async def test_a_form_of_another_site_s_page_starts_nothing(direct: Api, site: str, content_type: str) -> None:
    """It carries the cookies of a sign-in, so the app cannot know it from the user's own request by anything else."""
    headers = {"sec-fetch-site": site, "content-type": content_type, "x-ms-thread-id": "forged"}
    answer = await direct.http.post(RUN, content="Tell me a joke", headers=headers)
    thread = await direct.http.get("/api/agents/Joker/threads/forged")

    assert (answer.status_code, thread.status_code) == (403, 404)


@pytest.mark.parametrize("headers", ASKED_FIRST)
async def test_what_a_browser_asks_for_first_is_the_host_s_to_allow(direct: Api, headers: dict[str, str]) -> None:
    sent = {"sec-fetch-site": "cross-site", "content-type": "text/plain", **headers}
    answer = await direct.http.post(
        RUN,
        content=JOKE if "content-type" in headers else "Tell me a joke",
        headers={**sent, "accept": "application/json"},
    )

    assert answer.status_code == 200


@pytest.mark.parametrize("site", ["same-origin", "none", None])
async def test_forms_of_own_pages_and_of_programs_are_served(direct: Api, site: str | None) -> None:
    headers = {"content-type": "text/plain", **({"sec-fetch-site": site} if site else {})}
    answer = await direct.http.post(RUN, content="Tell me a joke", headers=headers)

    assert answer.status_code == 200
