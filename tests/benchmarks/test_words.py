"""When the words of a stream came, and when they were said."""

from benchmarks.connection import Answer
from benchmarks.measures.streams import words_in
from benchmarks.measures.wires import WIRES, delay_in


def test_words_are_told_with_the_time_of_the_piece_that_ended_their_frame() -> None:
    """A frame may come in pieces, and hold several words."""
    first, second = b'event: delta\ndata: {"text": "1.0 2.0 "}\n', b"\nevent: end\ndata: {}\n\n"
    answer = Answer(200, first + second, ((5.0, first), (6.0, second)))

    assert list(words_in(answer)) == [(6.0, 1.0), (6.0, 2.0)]


def test_the_first_word_of_a_wire_is_told_with_the_time_of_its_piece() -> None:
    """Events without words before it are none; a stream without a word has no time."""
    begun = b'event: x\ndata: {"type": "RUN_STARTED"}\n\ndata: {"type": "TEXT_MESSAGE_CONTENT", '
    word = b'"delta": "1.0 "}\n\n'
    answer = Answer(200, begun + word, ((5.0, begun), (6.5, word)))

    assert delay_in(answer, WIRES["ag-ui"].text) == 5.5
    assert delay_in(Answer(200, begun, ((5.0, begun),)), WIRES["ag-ui"].text) is None
