"""One POST to an address outside of the network: resolved, checked and connected to in one step.

Theory. The connection is made to the very addresses that were checked (`hosting.outside`). A redirect is an answer like
any other, and nothing of a body is read.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from msgspec import Struct

from hosting.exchange import UnreadableAnswerError, exchange
from hosting.outside import InsideNetworkError, Lookup, NoNameError, outside

SECONDS = 15.0
"""How long a receiver has, its name's resolution included."""

_THREADS = ThreadPoolExecutor(512, thread_name_prefix="webhook-name")
"""More than there may be tries at one time (`features.webhooks.send_slots`); each is made when it is needed."""


class Posted(Struct, frozen=True):
    """The result of a try: the receiver's status, or a `problem` in one word without one."""

    status: int | None = None
    problem: str | None = None


INSIDE = "inside_network"
NOT_ALLOWED = "not_allowed"


async def post(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    hosts: Sequence[str],
    seconds: float = SECONDS,
    *,
    lookup: Lookup = socket.getaddrinfo,
) -> Posted:
    """Send the body and return the result; never raises. `url` is one that `WebhookRules` accept."""
    sending = exchange("POST", url, headers, body, resolve=partial(outside, hosts, lookup, _THREADS))
    try:
        return Posted(status=(await asyncio.wait_for(sending, seconds)).status)
    except InsideNetworkError:
        return Posted(problem=INSIDE)
    except NoNameError:
        return Posted(problem="name_not_found")
    except UnreadableAnswerError:
        return Posted(problem="unreadable")
    except TimeoutError:
        return Posted(problem="timeout")
    except ssl.SSLError:
        return Posted(problem="tls_failed")
    except (OSError, ValueError):
        return Posted(problem="not_reached")
