"""The words of one thread, as they are stored: each with the newest entry of the conversation that has it.

Theory. They are one text, sorted, with a line for each word, so a search is a search in a text: for a line, or for the
beginning of one. A large one is compressed where it is stored and where a process remembers it. Beside it stands how
far it goes: the thread's life and reset that it is of, the last entry that was read, and the mark of the change that
the thread had before it was read. So of a thread that goes on only the newer entries are read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hosting.features.search.words import SearchedWord
from hosting.words import words_of

MOST_WORDS = 50_000
"""Of a thread with more different words, those of its newest messages are kept."""
_HEAD_BYTES = 40 * 1024
"""Words of up to so many bytes stand in the head of their cell, others in events."""
_CHUNK_BYTES = 200 * 1024
_OVERHEAD_BYTES = 600
_LEVEL = 6
_PLAIN_BYTES = 2048
TITLE = 0
"""The position of words of the title and the id, which stand in no entry."""


class Extent(Struct, frozen=True):
    """How far the words go: of a thread's life `epoch`, after the reset at `reset_at`, up to entry `position` of `run`.

    `mark` is that of the change before which the thread was read; empty where nothing was read yet. Words in events
    stand after position `begins` of their cell, in so many `chunks`.
    """

    mark: str = ""
    epoch: int = 0
    reset_at: int = 0
    position: int = 0
    run: str = ""
    begins: int = 0
    chunks: int = 0


class ThreadWords(Struct, frozen=True):
    """The words of a thread, compressed, and how far they go."""

    extent: Extent = Extent()
    titled: bytes = b""
    spoken: bytes = b""

    @property
    def memory_bytes(self) -> int:
        """About how much it takes."""
        return _OVERHEAD_BYTES + len(self.titled) + len(self.spoken)

    def last_with(self, words: Iterable[SearchedWord]) -> int:
        """Return an entry behind which none has all of these words, which the thread has: 0 for the title alone."""
        return min((self.entry_of([word]) or TITLE for word in words if not word.begins), default=self.extent.position)

    def entry_of(self, words: Iterable[SearchedWord]) -> int | None:
        """Return the newest entry that has one of these words, 0 for the title; None unless all are there."""
        text, newest = self._text(), TITLE
        for word in words:
            start = text.find(f"\n{word.text}" if word.begins else f"\n{word.text}\t")
            if start < 0:
                return None
            newest = max(newest, int(text[text.index("\t", start) + 1 : text.index("\n", start + 1)]))
        return newest

    def positions(self) -> dict[str, int]:
        """Return the words of the messages, each with the newest entry that has it."""
        lines = _plain(self.spoken).split("\n")[1:-1]
        return {word: int(position) for word, _, position in (line.partition("\t") for line in lines)}

    def stored(self, position: int) -> tuple[bytes, tuple[bytes, ...]]:
        """Return the payload of the cell's head, and its events behind that `position`."""
        if len(self.spoken) <= _HEAD_BYTES:
            extent = replace(self.extent, begins=position, chunks=0)
            return msgspec.msgpack.encode((extent, self.titled, self.spoken)), ()
        chunks = tuple(self.spoken[start : start + _CHUNK_BYTES] for start in range(0, len(self.spoken), _CHUNK_BYTES))
        extent = replace(self.extent, begins=position, chunks=len(chunks))
        return msgspec.msgpack.encode((extent, self.titled, b"")), chunks

    def _text(self) -> str:
        return _plain(self.spoken) + _plain(self.titled)


def words_of_thread(extent: Extent, titled: str, spoken: Mapping[str, int]) -> ThreadWords:
    """Return the words of a thread: those of its title and id, and those of messages with the newest entries."""
    if len(spoken) > MOST_WORDS:
        spoken = dict(sorted(spoken.items(), key=lambda item: item[1], reverse=True)[:MOST_WORDS])
    return ThreadWords(extent, _packed(dict.fromkeys(words_of(titled), TITLE)), _packed(spoken))


NOTHING = ThreadWords()
_decode = msgspec.msgpack.Decoder(tuple[Extent, bytes, bytes]).decode


def read_words(payload: bytes) -> ThreadWords:
    """Return the words as a head has them: without those that stand in events."""
    return ThreadWords(*_decode(payload))


def _packed(words: Mapping[str, int]) -> bytes:
    """Return the words as text: small ones as they are, which begin as no compressed text does."""
    lines = "".join(f"{word}\t{position}\n" for word, position in sorted(words.items()))
    text = f"\n{lines}".encode(errors="surrogatepass") if lines else b""
    return text if len(text) < _PLAIN_BYTES else zlib.compress(text, _LEVEL)


def _plain(packed: bytes) -> str:
    text = packed if packed.startswith(b"\n") or not packed else zlib.decompress(packed)
    return text.decode(errors="surrogatepass")
