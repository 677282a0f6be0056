"""Requests of a command to an app that runs: where it is, by which key and as whom, and its refusals as sentences."""

from __future__ import annotations

import argparse
import json
from http.client import HTTPException, InvalidURL
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

INTERRUPTED = 130
_SECONDS = 300.0


class RefusedError(Exception):
    """What the app answered, as a sentence."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Have a command take where the app runs, and what opens it."""
    parser.add_argument("--url", default="http://localhost:7071", help="where the app runs (default: %(default)s)")
    parser.add_argument("--key", help="a function key")
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="by which you are known, as often as needed",
    )


def headers_of(options: argparse.Namespace) -> dict[str, str]:
    """Return the headers that these options say; raises `ValueError` for what is none."""
    headers = dict(_header(text) for text in options.header)
    if options.key:
        headers["x-functions-key"] = options.key
    return headers


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ValueError(f"--header is {text[:80]!r}. Give 'NAME: VALUE'.")
    return name.strip(), value.strip()


def sent(request: Request) -> tuple[int, Any]:
    """Return the status and the JSON of an answer; raises `RefusedError` for any that is no success."""
    url = request.full_url
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"--url is {url[:80]!r}: it must begin with http:// or https://.")
    try:
        with urlopen(request, timeout=_SECONDS) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None
    except HTTPError as error:
        text = error.read()
        try:
            raise RefusedError(str(json.loads(text)["detail"])) from None
        except (ValueError, KeyError, TypeError):
            raise RefusedError(f"The app answered {error.code} {error.reason}.") from None
    except InvalidURL:
        raise ValueError(f"--url is {url[:80]!r}: its port must be a number, as in http://localhost:7071.") from None
    except (OSError, HTTPException) as error:
        raise RefusedError(f"The app cannot be reached: {getattr(error, 'reason', error)}.") from None
    except ValueError:
        raise _other_service(url) from None


def page_of(request: Request, *fields: str) -> dict[str, Any]:
    """Return an answer that has these fields; raises `RefusedError` for any other."""
    _, page = sent(request)
    if not isinstance(page, dict) or not page.keys() >= set(fields):
        raise _other_service(request.full_url)
    return page


def _other_service(url: str) -> RefusedError:
    return RefusedError(f"What answers at {url[:200]} is no app of this kind. Give its address as --url.")
