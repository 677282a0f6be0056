"""The words of a segment's chunks, and how well chunks fit the words of a query.

Theory. Each word has the rows of the chunks that it stands in, and how often. The words are dealt over parts by a sum
of their bytes, so a search reads the parts of its words and no other. What fits is weighed as BM25 does: a rare word
more than a common one, a word again less than the first time, and a word of a long chunk less than of a short one. How
rare a word is, is counted over all segments that are searched.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hosting.words import words_of

MOST_QUERY_WORDS = 32
"""Of a longer query the first different words are searched for."""
_CHUNKS_FOR_EACH_PART = 128
_MOST_PARTS = 32
_MOST_TIMES = 255
_REPEATED, _OF_LENGTH = 1.2, 0.75
"""What is called k1 and b of BM25."""
_LEVEL = 6


class PostingPart(Struct, frozen=True, array_like=True):
    """The words of one part in a text with a line for each, and where the postings of each begin and end.

    A posting is two bytes for the row, for all rows of the word, and then a byte for how often it stands there.
    """

    words: bytes
    starts: bytes
    postings: bytes

    @property
    def memory_bytes(self) -> int:
        """How much it takes."""
        return len(self.words) + len(self.starts) + len(self.postings)

    def rows(self, word: str) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
        """Return the rows that have the word, and how often."""
        position = self.words.find(b"\n%b\n" % word.encode(errors="surrogatepass"))
        if position < 0:
            return np.empty(0, np.uint16), np.empty(0, np.uint8)
        number = self.words.count(b"\n", 0, position)
        first, last = (int(start) for start in np.frombuffer(self.starts, "<u4", 2, number * 4))
        rows = (last - first) // 3
        return (
            np.frombuffer(self.postings, "<u2", rows, first),
            np.frombuffer(self.postings, np.uint8, rows, first + 2 * rows),
        )


def parts_of(chunks: int) -> int:
    """Return over how many parts the words of so many chunks are dealt."""
    return min(_MOST_PARTS, 1 + chunks // _CHUNKS_FOR_EACH_PART)


def part_of(word: str, parts: int) -> int:
    """Return which part has the word."""
    return zlib.crc32(word.encode(errors="surrogatepass")) % parts


def encode_words(texts: Sequence[str]) -> tuple[list[bytes], list[int]]:
    """Return the parts as they are stored, and how many words each text has."""
    parts = [dict[str, list[tuple[int, int]]]() for _ in range(parts_of(len(texts)))]
    lengths = list[int]()
    for row, text in enumerate(texts):
        counted = Counter(words_of(text))
        lengths.append(counted.total())
        for word, times in counted.items():
            parts[part_of(word, len(parts))].setdefault(word, []).append((row, min(times, _MOST_TIMES)))
    return [_encode(part) for part in parts], lengths


def decode_words(stored: bytes) -> PostingPart:
    """Return a part as `encode_words` left it."""
    return msgspec.msgpack.decode(zlib.decompress(stored), type=PostingPart)


def _encode(words: Mapping[str, Sequence[tuple[int, int]]]) -> bytes:
    postings, starts = bytearray(), [0]
    for word in words:
        rows, times = zip(*words[word], strict=True)
        postings += np.asarray(rows, "<u2").tobytes() + bytes(times)
        starts.append(len(postings))
    text = "".join(f"\n{word}" for word in words) + "\n"
    part = PostingPart(text.encode(errors="surrogatepass"), np.asarray(starts, "<u4").tobytes(), bytes(postings))
    return zlib.compress(msgspec.msgpack.encode(part), _LEVEL)


class Wording(Struct, frozen=True):
    """What a search reads of the words of one segment: how many each chunk has, and the parts that it needs."""

    lengths: NDArray[np.float32]
    parts: Mapping[int, PostingPart]
    part_count: int

    def rows(self, word: str) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
        """Return the rows that have the word, and how often."""
        return self.parts[part_of(word, self.part_count)].rows(word)


def query_words(text: str) -> list[str]:
    """Return the different words of a query."""
    return list(dict.fromkeys(words_of(text)))[:MOST_QUERY_WORDS]


def weigh(segments: Sequence[Wording], words: Iterable[str]) -> list[NDArray[np.float32]]:
    """Return for each segment how well its rows fit the words; 0 for a row that has none of them."""
    weights = [np.zeros(len(segment.lengths), np.float32) for segment in segments]
    chunks = sum(map(len, weights))
    average = sum(float(segment.lengths.sum()) for segment in segments) / max(chunks, 1)
    shares = [_REPEATED * (1 - _OF_LENGTH + _OF_LENGTH * segment.lengths / max(average, 1.0)) for segment in segments]
    for word in words:
        postings = [segment.rows(word) for segment in segments]
        chunks_with_word = sum(len(rows) for rows, _ in postings)
        if not chunks_with_word:
            continue
        rarity = np.float32(np.log1p((chunks - chunks_with_word + 0.5) / (chunks_with_word + 0.5)))
        for weight, share, (rows, times) in zip(weights, shares, postings, strict=True):
            weight[rows] += rarity * times * (_REPEATED + 1) / (times + share[rows])
    return weights
