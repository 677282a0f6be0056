"""`python dev.py owners assign` hands threads of an app to an owner, by the app's own routes (docs/security.md).

Each thread is one request, which may be repeated. Whoever sends them must be an administrator to the app.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

INTERRUPTED = 130
_SECONDS = 300.0


class _RefusedError(Exception):
    """What the app answered, as a sentence."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 0 where all threads are the owner's, 1 where one is not, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    if bool(options.threads) == options.all:
        print("Name threads, or give --all.", file=sys.stderr)
        return 1
    try:
        headers = dict(_header(text) for text in options.header)
        if options.key:
            headers["x-functions-key"] = options.key
        app = f"{options.url.rstrip('/')}/api/agents/{quote(options.agent)}/threads"
        threads = _threads(app, headers) if options.all else iter(options.threads)
        return max([_assign(app, thread, options, headers) for thread in threads], default=0)
    except (_RefusedError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py owners", description="Whose an app's threads are.")
    assign = parser.add_subparsers(dest="command", required=True).add_parser("assign", help="hand threads to an owner")
    assign.add_argument("agent", metavar="AGENT", help="the agent's name")
    assign.add_argument("threads", metavar="THREAD", nargs="*", help="ids of threads that are the app's own")
    assign.add_argument("--all", action="store_true", help="all threads that the app itself has with the agent")
    assign.add_argument("--issuer", required=True, help="who signs the owner in")
    assign.add_argument("--id", required=True, help="who the owner is to the issuer")
    assign.add_argument("--url", default="http://localhost:7071", help="where the app runs (default: %(default)s)")
    assign.add_argument("--key", help="a function key")
    assign.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="by which you are known, as often as needed",
    )
    return parser


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ValueError(f"--header is {text[:80]!r}. Give 'NAME: VALUE'.")
    return name.strip(), value.strip()


def _threads(app: str, headers: Mapping[str, str]) -> Iterator[str]:
    """Iterate over the ids of the app's own threads, read before the first of them is gone."""
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        query = urlencode({"owner": "app", "limit": 200, **({"cursor": cursor} if cursor else {})})
        _, page = _sent(Request(f"{app}?{query}", headers=dict(headers)))
        found += [thread["thread_id"] for thread in page["threads"]]
        cursor = page["next_cursor"]
    return iter(found)


def _assign(app: str, thread: str, options: argparse.Namespace, headers: Mapping[str, str]) -> int:
    body = json.dumps({"issuer": options.issuer, "id": options.id}).encode()
    sent = {**headers, "content-type": "application/json"}
    try:
        status, _ = _sent(Request(f"{app}/{quote(thread)}/assign", data=body, headers=sent, method="POST"))
    except _RefusedError as error:
        print(f"{thread}: {error}", file=sys.stderr)
        return 1
    print(f"{thread}: assigned" + (", the old thread still goes" if status == 202 else ""))
    return 0


def _sent(request: Request) -> tuple[int, Any]:
    """Return the status and the JSON of an answer; raises `_RefusedError` for any that is no success."""
    if not request.full_url.startswith(("http://", "https://")):
        raise ValueError(f"--url is {request.full_url[:80]!r}: it must begin with http:// or https://.")
    try:
        with urlopen(request, timeout=_SECONDS) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None
    except HTTPError as error:
        text = error.read()
        try:
            raise _RefusedError(str(json.loads(text)["detail"])) from None
        except (ValueError, KeyError, TypeError):
            raise _RefusedError(f"The app answered {error.code} {error.reason}.") from None
    except URLError as error:
        raise _RefusedError(f"The app cannot be reached: {error.reason}.") from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
