"""The commands that ask a running app, where the answer is no success: a sentence that says what to give instead."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hosting.commands.operations import main as operations
from hosting.commands.owners import main as owners

pytestmark = pytest.mark.behaviour("overview.commands")

EMPTY_PAGE = {"agents": [], "complete": True, "looked_at": 0, "stuck": [], "threads": [], "next_cursor": None}
Captured = pytest.CaptureFixture[str]
Command = Callable[[Sequence[str]], int]


def assigning(options: Sequence[str]) -> int:
    """Run `owners assign` over all threads of an agent."""
    return owners(["assign", "Joker", "--all", "--issuer", "i", "--id", "a", *options])


COMMANDS = pytest.mark.parametrize("command", [operations, assigning], ids=["operations", "owners assign"])


@dataclass
class Answers:
    """An app, or what stands before it, and what it was asked.

    It answers with the next of these pages, with the last one from then on, and not at all where one is None.
    """

    pages: list[Any]
    status: int = 200
    asked: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)

    @contextmanager
    def served(self) -> Iterator[str]:
        """Yield its address."""
        answers = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answers.asked.append(self.path)
                answers.headers.append({name.lower(): value for name, value in self.headers.items()})
                page = answers.pages.pop(0) if len(answers.pages) > 1 else answers.pages[0]
                if page is None:
                    return
                body = page if isinstance(page, bytes) else json.dumps(page).encode()
                self.send_response(answers.status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            serving = threading.Thread(target=server.serve_forever, args=(0.01,))
            serving.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}"
            finally:
                server.shutdown()
                serving.join()


@COMMANDS
@pytest.mark.parametrize(
    ("answered", "options", "sentence"),
    [
        ((401, b""), [], "The app at URL answered 401 Unauthorized. Send a function key with --key."),
        ((401, b""), ["--key", "k"], "The app at URL answered 401 Unauthorized. It refuses the key of --key."),
        ((401, b'{"detail": "Sign in."}'), ["--key", "k"], "Sign in. Identify yourself with --header 'NAME: VALUE'."),
        ((403, b""), [], "URL answered 403 Forbidden: a service in front of the app refused you."),
        ((403, b'{"detail": "This is for administrators."}'), [], "This is for administrators."),
        ((404, b""), [], "URL answered 404 Not Found to /api/"),
        ((404, b'{"detail": "This app has no owners."}'), [], "This app has no owners."),
        ((502, b"<html>"), [], "URL answered 502 Bad Gateway."),
    ],
)
def test_a_refusal_says_what_to_give(
    command: Command, answered: tuple[int, bytes], options: list[str], sentence: str, capsys: Captured
) -> None:
    """The app's own sentence where there is one; else the host's status, the address, and the option to use."""
    status, body = answered
    with Answers([body], status).served() as url:
        code = command(["--url", url, *options])

    assert code == 1
    assert capsys.readouterr().err.startswith(sentence.replace("URL", url))


@COMMANDS
@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("localhost:7071", "--url is 'localhost:7071': it must begin with http:// or https://."),
        ("http://localhost:port", "--url is 'http://localhost:port': its port must be a number up to 65535"),
        ("http://local host", "--url is 'http://local host': it has spaces"),
        ("http://löcal", "--url is 'http://löcal': it has spaces or characters"),
        ("http://", "--url is 'http://': give only where the app runs"),
        ("http://[::1", "--url is 'http://[::1': its port must be"),
        ("http://a.example/api?code=k", "--url is 'http://a.example/api?code=k': give only where the app runs"),
        ("http://127.0.0.1:9/x", "The app cannot be reached at http://127.0.0.1:9/x: "),
    ],
)
def test_an_address_is_quoted_as_it_was_typed(command: Command, url: str, sentence: str, capsys: Captured) -> None:
    assert command(["--url", url]) == 1

    complaint = capsys.readouterr().err
    assert complaint.startswith(sentence)
    assert "operations" not in complaint


@COMMANDS
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--header", "nothing"], "--header is 'nothing'. Give 'NAME: VALUE', in plain characters."),
        (["--header", "x: a\nb"], "--header is 'x: a\\nb'."),
        (["--header", "x: ä"], "--header is 'x: ä'."),
        (["--key", "a b"], "--key has spaces"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused(
    command: Command, options: list[str], sentence: str, capsys: Captured
) -> None:
    assert command(options) == 1
    assert capsys.readouterr().err.startswith(sentence)


def test_the_key_and_the_headers_are_sent() -> None:
    answers = Answers([EMPTY_PAGE])
    with answers.served() as url:
        operations(["--url", url, "--key", "k=", "--header", "X-User: root"])

    assert (answers.headers[0]["x-functions-key"], answers.headers[0]["x-user"]) == ("k=", "root")


@COMMANDS
@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ({"status": "ok"}, "is not an app of this kind"),
        ([], "is not an app of this kind"),
        (b"<html>", "is not an app of this kind"),
        (b"", "is not an app of this kind"),
        (None, ": Remote end closed"),
    ],
    ids=["other JSON", "a list", "a page", "nothing", "no answer"],
)
def test_another_service_at_the_address_is_named(
    command: Command, page: object, sentence: str, capsys: Captured
) -> None:
    with Answers([page]).served() as url:
        code = command(["--url", url])

    assert (code, sentence in capsys.readouterr().err) == (1, True)


@pytest.mark.behaviour("http.lists-end")
@pytest.mark.parametrize(
    ("cursors", "sentence"),
    [
        ([""], ""),
        (["a", "b", ""], ""),
        (["a", "a", ""], "repeats a page"),
        (["a", "b", "a", ""], "repeats a page"),
    ],
)
def test_a_command_reads_a_list_to_its_end_or_says_that_it_has_none(
    cursors: list[str], sentence: str, capsys: Captured
) -> None:
    """An empty cursor is none; nothing is assigned of a list that would not end."""
    with Answers([{"threads": [], "next_cursor": cursor} for cursor in cursors]).served() as url:
        code = assigning(["--url", url])

    told = capsys.readouterr().err
    assert (code, bool(told), sentence in told) == (1 if sentence else 0, bool(sentence), True)


def seen(**by_run: str) -> dict[str, Any]:
    """Return a page of runs that say nothing, with the last text seen of each."""
    told = {"agent": "Joker", "kind": "agent", "owner": "app", "thread_id": "t", "code": "silent", "since": "then"}
    stuck = [{**told, "run_id": run, "reason": "Nothing.", "seen": text} for run, text in by_run.items()]
    return {"agents": [], "complete": False, "looked_at": 500, "stuck": stuck}


@pytest.mark.behaviour("overview.stuck")
def test_a_run_that_shows_a_sign_of_life_is_left_out(capsys: Captured) -> None:
    """Of those that say nothing; what was not looked at is said too."""
    with Answers([seen(dead="a", alive="b"), seen(dead="a", alive="c", new="d")]).served() as url:
        code = operations(["--url", url, "--watch", "0"])

    assert code == 1
    assert capsys.readouterr().out.splitlines() == [
        "These numbers count only the 500 threads that changed last.",
        "Joker, run dead of thread t, owner app, since then: Nothing.",
    ]
