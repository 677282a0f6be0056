"""When the words of a stream came, and when they were said."""

from benchmarks.connection import Answer
from benchmarks.measures.growth import around
from benchmarks.measures.streams import words_in


def test_words_are_told_with_the_time_of_the_piece_that_ended_their_frame() -> None:
    """A frame may come in pieces, and hold several words."""
    first, second = b'event: delta\ndata: {"text": "1.0 2.0 "}\n', b"\nevent: end\ndata: {}\n\n"
    answer = Answer(200, first + second, ((5.0, first), (6.0, second)))

    assert list(words_in(answer)) == [(6.0, 1.0), (6.0, 2.0)]


def test_a_turn_of_a_growing_thread_is_told_by_the_thirty_around_it() -> None:
    """Of all threads that came so far."""
    threads = [[float(number) for number in range(50)], [100.0] * 20]

    assert around(threads, 30) == [float(number) for number in range(15, 45)] + [100.0] * 5
