"""How large a stored conversation may become: what is said while it fills, what is refused once it is full.

Theory. The archive takes what is older than the recent conversation (`archiving.py`), so a document comes near its
limit only where the archive is away or one turn is very large. A request is refused before the agent runs if the
document would pass the limit with it; nothing was paid for yet. An answer is kept although the document passes the
limit with it, because a thread that forgot its newest turn would be worse than one that is a little too large. Only an
answer that is larger than the whole limit stays out of the document, which so never passes twice the limit: with the
default of 512 KiB, the 1 MiB that the smallest of the engines takes. That answer is in its run's log and is told all
the same. Source: state.md rule 8.
"""

from __future__ import annotations

import logging

from hosting.errors import ThreadFullError

logger = logging.getLogger(__name__)

WARNED_SHARE = 0.5


class Capacity:
    """What a limit in bytes means for the conversations of one agent."""

    def __init__(self, agent: str, limit_bytes: int) -> None:
        self._agent = agent
        self._limit = limit_bytes

    def refusal(self, thread_id: str, stored: str | None, request: str) -> ThreadFullError | None:
        """Return why a request's entry has no room beside the stored document, or None when it has."""
        held, more = size_bytes(stored or ""), size_bytes(request)
        if held + more <= self._limit:
            return None
        if more > self._limit:
            return ThreadFullError(f"This message is stored in {more:,} bytes and a conversation has {self._limit:,}.")
        return ThreadFullError(
            f"Thread {thread_id!r} holds {held:,} of its {self._limit:,} bytes, of which the archive could take none, "
            f"and has no room for this message of {more:,}. Try again later, or go on with a new thread."
        )

    def room_beside(self, request: str) -> int:
        """Return how many bytes a document may have beside a request's entry; negative for one that fits nowhere."""
        return self._limit - size_bytes(request)

    def keeps(self, run_id: str, answer_bytes: int) -> bool:
        """Tell whether a conversation keeps an answer; one that is too large is told in the log."""
        if answer_bytes <= self._limit:
            return True
        logger.error(
            "The answer of run %s of agent %s has %d bytes and a conversation at most %d: it is kept in its log only.",
            run_id,
            self._agent,
            answer_bytes,
            self._limit,
        )
        return False

    def tell(self, thread_id: str, stored: str) -> None:
        """Write into the log how full a conversation is, from half of the limit on: ids and bytes, no text."""
        held = size_bytes(stored)
        if held < WARNED_SHARE * self._limit:
            return
        outlook = "its next run is refused" if held >= self._limit else "runs are refused once it is full"
        logger.warning(
            "Thread %s of agent %s holds %d of its %d bytes: %s, unless the archive takes some.",
            thread_id,
            self._agent,
            held,
            self._limit,
            outlook,
        )


def size_bytes(text: str) -> int:
    """Return the length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
