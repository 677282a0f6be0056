"""An error that an agent, a tool or a library raised, in one line: foreign text and foreign classes.

It goes to the app's own log, and to callers only where the app is developed.
"""

from __future__ import annotations

import re
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

LONGEST_CAUSE = 500
_OF_CONNECTION = re.compile("Connect|Closed|BrokenResource|Transport|Unauthori|Authenticat")
"""Parts of the names of clients' exceptions for a lost connection or invalid credentials."""


def chain_of(error: BaseException) -> list[BaseException]:
    """Return the error and its causes, the first cause last.

    Each is there once: an error that is raised again, from an error that it caused, closes a circle.
    """
    chain, met = [error], {id(error)}
    while (inner := chain[-1].__cause__ or chain[-1].__context__) is not None and id(inner) not in met:
        chain.append(inner)
        met.add(id(inner))
    return chain


def is_of_connection(error: BaseException) -> bool:
    """Return whether a broken connection explains an error: the system's own, or an error with a class named for it."""
    classes = [kind for cause in chain_of(error) for kind in type(cause).__mro__]
    return any(issubclass(kind, OSError | EOFError) or _OF_CONNECTION.search(kind.__name__) for kind in classes)


def named_cause(error: BaseException) -> str:
    """Return the exception in one line that ends as a sentence; foreign code may fail at that too."""
    with suppress(Exception):
        return cause_sentence(type(error).__name__, str(error))
    return f"{type(error).__name__}."


def cause_sentence(raised: str, text: str) -> str:
    """Return the class and the text of an error in one line that ends as a sentence."""
    cause = ": ".join(filter(None, [raised, " ".join(text.split())]))
    shown = cause if len(cause) <= LONGEST_CAUSE else f"{cause[:LONGEST_CAUSE]}…"
    return shown if shown.endswith((".", "!", "?", "…")) else f"{shown}."


def unreached_address(error: BaseException) -> str:
    """Return which address could not be reached and why, when that is the error; else nothing.

    Clients for HTTP name the request on what they raise, and its last cause is the system's. The frames between are
    theirs, a hundred lines that say no more than this.
    """
    chain = chain_of(error)
    try:
        urls = (str(getattr(getattr(link, "request", None), "url", "")) for link in chain)
        address, cause = urlsplit(next(filter(None, urls), "")), chain[-1]
        if not address.hostname or not isinstance(cause, OSError):
            return ""
        shown = f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}"
        if proxy := _proxy_before(address):
            return (
                f"{shown} cannot be reached through the proxy {proxy}, which the environment sets: {cause}. Is it "
                f"running? Set NO_PROXY={address.hostname} to connect without a proxy."
            )
        return f"{shown} cannot be reached: {cause}. Check the address, and that a server runs there."
    except Exception:  # foreign code answers here: httpx's errors raise where they have no request
        return ""


def _proxy_before(address: SplitResult) -> str:
    """Return the proxy by which clients for HTTP ask for that address, without its password; nothing without one."""
    proxies = getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all") or ""
    return "" if proxy_bypass(address.hostname or "") else proxy.rpartition("@")[2].rpartition("//")[2]
