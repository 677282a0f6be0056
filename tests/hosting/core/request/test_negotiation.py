"""How a body is read and an answer written, by the caller's headers."""

from typing import Any

import pytest

from hosting.errors import UnsupportedMediaTypeError
from hosting.http.answer_form import answer_form
from hosting.http.run_call import RawRequest, body_form


@pytest.mark.parametrize(
    ("accept", "sent", "form"),
    [
        ("", "json", "json"),
        ("", "text", "text"),
        ("*/*", "text", "text"),
        ("application/json", "text", "json"),
        ("text/plain", "json", "text"),
        ("text/html", "json", "text"),
        ("application/*;q=0.2, text/plain;q=0.1", "text", "json"),
        ("application/json;q=0, */*", "json", "json"),
        ("text/event-stream", "json", "events"),
        ("text/event-stream, application/json;q=0.5", "text", "events"),
        ("text/event-stream;q=0.4, application/json;q=0.5", "text", "json"),
        ("text/*", "text", "text"),
        ("*/*", "events", "events"),
        ("application/json;q=high, text/plain;q=0.1", "json", "text"),
        ("TEXT/PLAIN", "json", "text"),
        ("application/json; q=0.5 , text/plain;q = 0.4", "text", "json"),
    ],
)
def test_accept_decides_the_form(accept: str, sent: Any, form: str) -> None:
    """q-values count; ties and no preference are as the request was."""
    assert answer_form(accept, sent) == form


@pytest.mark.parametrize(
    ("content_type", "form"),
    [
        ("", "text"),
        ("application/json", "json"),
        ("Application/JSON; Charset=UTF-8", "json"),
        ("application/problem+json", "json"),
        ("text/markdown", "text"),
        ("application/x-www-form-urlencoded", "text"),
        ('text/plain; charset="utf-8"', "text"),
    ],
)
def test_a_body_is_json_or_text(content_type: str, form: str) -> None:
    assert body_form(RawRequest({"content-type": content_type}, {}, b""), 1) == form


@pytest.mark.parametrize("content_type", ["image/png", "video/mp4", "multipart/mixed", "text/plain; charset=latin-1"])
def test_a_body_that_cannot_be_a_message_is_refused(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaTypeError):
        body_form(RawRequest({"content-type": content_type}, {}, b""), 1)
