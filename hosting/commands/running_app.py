"""The common part of commands: their requests to a running app, its address and key, and their exit code.

A refusal is a sentence. It names the address as it was typed, and the option that would change the answer.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

INTERRUPTED = 130
BROKEN_PIPE = 141
"""The exit code of a program after its output is no longer read, as shells have it."""
_SECONDS = 300.0
_KEY = "x-functions-key"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[ -~]*")
_ON_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_PRINTABLE = re.compile(r"[!-~]+")


class RefusedError(Exception):
    """An answer of the app, as a sentence."""


@dataclass(frozen=True)
class RunningApp:
    """An app that runs: its address as it was typed, and the headers that open it."""

    url: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, options: argparse.Namespace) -> RunningApp:
        """Return the app that these options name; raises `ValueError` for an address or a header that is none."""
        headers = dict(_header(text) for text in options.header)
        if options.key:
            if not _PRINTABLE.fullmatch(options.key):
                raise ValueError("--key has spaces or characters that keys do not have. Give only the key.")
            headers[_KEY] = options.key
        return cls(_checked(options.url), headers)

    def sent(
        self, path: str, query: Mapping[str, object] | None = None, method: str = "GET", body: object = None
    ) -> tuple[int, Any]:
        """Return the status and the JSON of an answer; raises `RefusedError` for any that is no success."""
        base = self.url.rstrip("/").removesuffix("/api")  # where a route begins is an address that people copy, too
        where = f"{base}/api/{path}" + (f"?{urlencode(query)}" if query else "")
        typed = {} if body is None else {"content-type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        request = Request(where, data=content, headers={**self.headers, **typed}, method=method)
        try:
            with _opener(where).open(request, timeout=_SECONDS) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except HTTPError as error:
            raise RefusedError(self._refusal(error, where)) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise RefusedError(f"The app cannot be reached at {self.url}: {reason}. Is it running there?") from None
        except ValueError:
            raise self._other_service() from None

    def page(self, path: str, query: Mapping[str, object], *fields: str) -> dict[str, Any]:
        """Return an answer that has these fields; raises `RefusedError` for any other."""
        _, page = self.sent(path, query)
        if not isinstance(page, dict) or not page.keys() >= set(fields):
            raise self._other_service()
        return page

    def _refusal(self, error: HTTPError, where: str) -> str:
        """Return the app's own sentence; if the host refused instead, a sentence with the remedy."""
        detail = _detail(error)
        if error.code == 401:
            if detail is not None:
                return f"{detail} Identify yourself with --header 'NAME: VALUE'."
            remedy = "It refuses the key of --key." if _KEY in self.headers else "Send a function key with --key."
            return f"The app at {self.url} answered 401 {error.reason}. {remedy}"
        if detail is not None:
            return detail
        answered = f"{self.url} answered {error.code} {error.reason}"
        if error.code == 404:
            return (
                f"{answered} to {urlsplit(where).path}. Give the app's address as --url, without the path of a route."
            )
        if error.code == 403:
            return f"{answered}: a service in front of the app refused you. Is it stopped, or closed to your network?"
        return f"{answered}."

    def _other_service(self) -> RefusedError:
        return RefusedError(f"The service at {self.url} is not an app of this kind. Give the app's address as --url.")


def _opener(where: str) -> OpenerDirector:
    """Return the opener for that address: it uses no proxy for an app on this machine."""
    is_here = urlsplit(where).hostname in _ON_THIS_MACHINE
    return build_opener(ProxyHandler({})) if is_here else build_opener()


def add_options(parser: argparse.ArgumentParser, *, starts_an_app: bool = False) -> None:
    """Add the options for the app's address and credentials to a command; one that starts an app needs no address."""
    default = None if starts_an_app else "http://localhost:7071"
    parser.add_argument("--url", default=default, help=f"where the app runs (default: {default or 'it is started'})")
    parser.add_argument("--key", help="a function key")
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="a header that identifies you; repeat it for more headers",
    )


def _header(text: str) -> tuple[str, str]:
    name, colon, value = (part.strip() for part in text.partition(":"))
    if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
        raise ValueError(f"--header is {text[:80]!r}. Give 'NAME: VALUE', in plain characters.")
    return name, value


def _checked(url: str) -> str:
    """Return an address of an app; raises `ValueError`, with the address, for an invalid one."""
    quoted = f"--url is {url[:80]!r}"
    if not url.lower().startswith(("http://", "https://")):
        raise ValueError(f"{quoted}: it must begin with http:// or https://.")
    if not _PRINTABLE.fullmatch(url):
        raise ValueError(f"{quoted}: it has spaces or characters that must be percent-encoded.")
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        raise ValueError(f"{quoted}: its port must be a number up to 65535, as in http://localhost:7071.") from None
    if not has_host or parts.query or parts.fragment or parts.username is not None:
        raise ValueError(f"{quoted}: give only where the app runs, as http://localhost:7071. A key is given by --key.")
    return url


def _detail(error: HTTPError) -> str | None:
    """Return the sentence of a problem of the app's own, None where the answer is none."""
    try:
        problem = json.loads(error.read())
        return str(problem["detail"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None


def exit_code(main: Callable[[Sequence[str]], int], arguments: Sequence[str] | None = None) -> int:
    """Return the exit code of a command's `main`, called with the typed arguments unless others are given."""
    try:
        try:
            return main(sys.argv[1:] if arguments is None else arguments)
        finally:
            sys.stdout.flush()  # also after `--help`, which leaves by an exception: here the pipe may be closed too
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes the rest when it ends
        return BROKEN_PIPE
