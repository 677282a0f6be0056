"""Files that the app fetches from an address which a caller names.

Theory. A server that fetches what its callers name lets them reach the network that it stands in. So the app fetches
only from hosts that AGENT_FILE_HOSTS allows: named ones, or with `*` any outside of its network. The connection is made
to the very addresses that were checked (`hosting.outside`). A redirect is refused, because it leads elsewhere. Nothing
of the caller is sent along, and nothing of a refused answer is shown.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from hosting.exchange import OversizedAnswerError, UnreadableAnswerError, streamed_exchange
from hosting.features.uploads.refusals import FileNotFetchedError, FileTooLargeError, HostNotAllowedError
from hosting.outside import InsideNetworkError, Lookup, NoNameError, advice_about, hosts_of, is_allowed_address, outside

SETTING = "AGENT_FILE_HOSTS"
SECONDS = 180.0
"""For a whole file: the platform ends a request a little later."""
_IDLE_SECONDS = 30.0
"""Between two pieces."""
_ANY = "*"
_THREADS = ThreadPoolExecutor(32, thread_name_prefix="file-host-name")
_LONGEST_LENGTH = 15


class FetchedFile(Struct, frozen=True):
    """A file at an address: its name and media type as the other side has them, its size if it says it, its bytes."""

    name: str
    media_type: str
    size: int | None
    pieces: AsyncIterator[bytes]


class Fetching:
    """The fetching of one app's files, from the `hosts` of its setting. A file has `most_bytes` at most."""

    def __init__(
        self, hosts: str, most_bytes: int, *, lookup: Lookup = socket.getaddrinfo, seconds: float = SECONDS
    ) -> None:
        self._hosts = hosts_of(hosts)
        self._named = tuple(host for host in self._hosts if host != _ANY)
        self._most_bytes, self._lookup, self._seconds = most_bytes, lookup, seconds

    def check(self, url: str) -> None:
        """Raise `HostNotAllowedError` for an address that the app does not fetch from."""
        if not self._hosts:
            raise HostNotAllowedError(f"This app fetches no files. Send the bytes, or set {SETTING}.")
        if not is_allowed_address(url, self._named):
            raise HostNotAllowedError(f"The address {url[:80]!r} is refused. {advice_about(url, SETTING)}")
        host = urlsplit(url).hostname or ""
        if _ANY not in self._hosts and not {host, f"[{host}]"}.intersection(self._named):
            raise HostNotAllowedError(f"The app fetches no files from {host[:80]!r}. Send the bytes, or set {SETTING}.")

    @asynccontextmanager
    async def opened(self, url: str) -> AsyncIterator[FetchedFile]:
        """Enter the block with the file at the address, whose bytes come as they are read.

        Raises `HostNotAllowedError`, `FileNotFetchedError` where there is none, also while it is read, and
        `FileTooLargeError`.
        """
        self.check(url)
        resolve = partial(outside, self._named, self._lookup, _THREADS)
        headers = {"accept-encoding": "identity"}
        most = self._most_bytes
        with _refused(most):
            async with asyncio.timeout(self._seconds):
                async with streamed_exchange("GET", url, headers, resolve=resolve, most_body_bytes=most) as answer:
                    if answer.status != 200:
                        raise FileNotFetchedError(_of_status(answer.status))
                    if answer.fields.get("content-encoding", "identity").lower() != "identity":
                        raise FileNotFetchedError("The address sends a compressed file. Send the bytes instead.")
                    length = answer.fields.get("content-length", "")
                    size = int(length) if length.isdecimal() and len(length) <= _LONGEST_LENGTH else None
                    if size is not None and size > most:
                        raise OversizedAnswerError
                    name = unquote(urlsplit(url).path.rpartition("/")[2])
                    yield FetchedFile(name, answer.fields.get("content-type", ""), size, _in_time(answer.pieces, most))


async def _in_time(pieces: AsyncGenerator[bytes, None], most: int) -> AsyncGenerator[bytes, None]:
    """Yield the pieces; raises `FileNotFetchedError` where one does not come in time, or is none."""
    while True:
        with _refused(most):
            piece = await asyncio.wait_for(anext(pieces, None), _IDLE_SECONDS)
        if piece is None:
            return
        yield piece


@contextmanager
def _refused(most: int) -> Iterator[None]:
    """Have what goes wrong with the other side be a refusal; a file has `most` bytes."""
    try:
        yield
    except InsideNetworkError as error:
        raise HostNotAllowedError(f"The address leads into the app's network. {SETTING} names such hosts.") from error
    except OversizedAnswerError as error:
        raise FileTooLargeError(
            f"The file has more than {most:,} bytes, which is the most. Send a smaller one."
        ) from error
    except NoNameError as error:
        raise FileNotFetchedError("The address has a host that nobody knows. Check its name.") from error
    except TimeoutError as error:
        raise FileNotFetchedError("The address took too long. Try again, or send the bytes.") from error
    except ssl.SSLError as error:
        raise FileNotFetchedError("The address has no certificate that can be trusted. Send the bytes.") from error
    except (UnreadableAnswerError, EOFError, asyncio.LimitOverrunError) as error:
        raise FileNotFetchedError("The address broke off, or did not answer by HTTP. Try again.") from error
    except OSError as error:
        raise FileNotFetchedError("The address could not be reached. Check it, and try again.") from error


def _of_status(status: int) -> str:
    if 300 <= status < 400:
        return f"The address answered {status}: it leads elsewhere. Send the address that it leads to."
    return f"The address answered {status}. Check that it can be read without signing in."
