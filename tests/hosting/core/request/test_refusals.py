"""What is refused at the HTTP door: a clear 4xx in our words, and nothing stored."""

import pytest

from tests.hosting.core.request.bad_contents import BAD_CONTENTS
from tests.hosting.core.request.bad_formats import BAD_FORMATS
from tests.hosting.core.request.bad_requests import BAD_REQUESTS, JSON, RUN, TEXT
from tests.support.carriers import Api

BAD = {**BAD_REQUESTS, **BAD_FORMATS, **BAD_CONTENTS}


@pytest.mark.behaviour("http.bad-requests-store-nothing")
@pytest.mark.behaviour("http.json-without-its-type")
async def test_a_bad_request_is_refused_in_our_words_and_stores_nothing(direct: Api) -> None:
    """The problem names what was wrong; there is no log and no conversation more than before."""
    before = await direct.stored()

    for name, bad in BAD.items():
        headers = {"accept": "application/json", **bad.headers}
        answer = await direct.http.post(bad.url, content=bad.body, headers=headers)

        problem = answer.json()
        assert (answer.status_code, problem["status"], problem["code"]) == (bad.status, bad.status, bad.code), name
        assert answer.headers["content-type"] == "application/problem+json", name
        assert bad.says in problem["detail"], name
        assert problem["error"] == problem["detail"], name

    assert await direct.stored() == before


@pytest.mark.behaviour("http.problem-forms")
@pytest.mark.parametrize(("headers", "body"), [(TEXT, b"hi"), ({**JSON, "accept": "text/plain"}, b'{"message": "hi"}')])
async def test_a_text_client_is_refused_by_the_sentence_alone(
    direct: Api, headers: dict[str, str], body: bytes
) -> None:
    answer = await direct.http.post(f"{RUN}?thread_id=..", content=body, headers=headers)

    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (400, "text/plain")
    assert answer.text.startswith("Thread id '..' is not valid. Use 1 to 64 of the characters")


@pytest.mark.behaviour("http.problem-forms")
async def test_a_problem_has_every_member_of_the_contract(direct: Api) -> None:
    """RFC 9457's members, the stable code, and the older shape's `error`."""
    answer = await direct.http.post(RUN, json={})

    detail = 'There is no message. Send {"message": "..."}, or the message itself as text/plain.'
    assert answer.json() == {
        "type": "about:blank",
        "title": "Bad Request",
        "status": 400,
        "detail": detail,
        "code": "missing_message",
        "errorCode": "missing_message",
        "error": detail,
    }


@pytest.mark.behaviour("http.wrong-verb")
async def test_another_verb_than_post_is_refused_with_the_right_one(direct: Api) -> None:
    before = await direct.stored()
    for verb in ("GET", "PUT", "DELETE", "PATCH"):
        answer = await direct.http.request(verb, RUN)

        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert answer.json()["detail"] == f"{verb} is not served here. Send POST agents/Joker/run."
    assert await direct.stored() == before


@pytest.mark.behaviour("http.unknown-runs")
async def test_a_run_is_found_under_its_own_ids_only(direct: Api) -> None:
    """Another thread, another run or an id that cannot be one: 404. So is an agent without an HTTP door."""
    run = (await direct.ask("hi")).json()
    thread, run_id = run["thread_id"], run["run_id"]
    paths = [f"Joker/threads/other-thread/runs/{run_id}", f"quiet/threads/{thread}/runs/{run_id}"]
    paths += [f"Joker/threads/{thread}/runs/{other}" for other in ("other-run", "..x.", "%20")]

    assert [(await direct.http.get(f"/api/agents/{path}")).status_code for path in paths] == [404] * 5


async def test_a_message_reaches_the_model_as_it_was_sent(direct: Api) -> None:
    """No text is special, and none is changed on the way into the conversation and back."""
    for message in ("None", '{"a": 1}', "\u0000", "\ufeffx", "a\u2028b", "😀", "ü" * 5000):
        answer = (await direct.ask(message)).json()
        request, _ = await direct.entries(answer["thread_id"])

        assert (answer["response"], answer["message"]) == (f"echo: {message}", message)
        assert request["messages"][0]["contents"][0]["text"] == message
