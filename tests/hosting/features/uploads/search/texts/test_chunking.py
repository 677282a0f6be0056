"""Chunks of a text, and estimated tokens beside those of cl100k_base, recorded by tiktoken 0.14."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosting.errors import ConfigurationError
from hosting.features.uploads.search.texts.chunking import chunked
from hosting.features.uploads.search.texts.extract import check_packages
from hosting.features.uploads.search.texts.limits import TextPiece
from hosting.features.uploads.search.texts.tokens import estimated

SENTENCE = "The committee of the association met on Tuesday and decided nothing. "


def test_a_chunk_has_the_page_and_the_heading_where_it_begins() -> None:
    pages = [TextPiece(SENTENCE * 7 + "\n\n", number, f"Part {number}") for number in (1, 2, 3)]
    chunks = list(chunked(pages, 150, 0))

    assert [(chunk.place.page, chunk.place.label) for chunk in chunks] == [(1, "Part 1"), (2, "Part 2"), (3, "Part 3")]


@pytest.mark.parametrize(("size", "overlap"), [(99, 0), (800, 401), (800, -1)])
def test_sizes_that_make_no_sense_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match=f"chunk_tokens={size}, overlap_tokens={overlap}"):
        list(chunked([], size, overlap))


@given(
    st.lists(st.text(st.sampled_from("ab. \n中。1!x"), max_size=400), max_size=6),
    st.integers(100, 200),
    st.floats(0, 0.5),
)
def test_chunks_hold_all_of_the_text_in_order(texts: list[str], size: int, share: float) -> None:
    whole = "".join(texts)
    chunks = list(chunked(map(TextPiece, texts), size, int(size * share)))

    end, start = 0, -1
    for chunk in chunks:
        assert chunk.text == whole[chunk.place.start : chunk.place.end]
        assert start < chunk.place.start
        assert end < chunk.place.end
        assert not whole[end : chunk.place.start].strip()
        start, end = chunk.place.start, chunk.place.end
    assert not whole[end:].strip()


MOST_WRONG = 0.25
RECORDED = {
    "The committee met on Tuesday to discuss the annual report. Most of its members had read it, and nobody asked for "
    "changes. After an hour they decided to publish it in the spring.": 37,
    "Der Ausschuss traf sich am Dienstag, um den Jahresbericht zu besprechen. Die meisten Mitglieder "
    "hatten ihn gelesen, und niemand wünschte Änderungen.": 39,
    "Le comité s'est réuni mardi pour discuter du rapport annuel. La plupart des membres l'avaient lu, et personne "
    "n'a demandé de modifications.": 38,
    "Komitet spotkał się we wtorek, aby omówić sprawozdanie roczne. Większość członków je przeczytała i nikt nie "
    "prosił o zmiany.": 49,
    "Комитет собрался во вторник, чтобы обсудить годовой отчёт. Большинство членов прочитали его, и никто не просил "
    "изменений.": 55,
    "委员会星期二开会讨论年度报告。大多数成员都已经读过,没有人要求修改。一小时后,他们决定在春天发表。": 50,
    "委員会は火曜日に年次報告書について話し合うために集まりました。"
    "ほとんどの委員はすでに読んでいて、変更を求める人はいませんでした。": 69,
    "اجتمعت اللجنة يوم الثلاثاء لمناقشة التقرير السنوي. كان معظم الأعضاء قد قرأوه ولم يطلب أحد تغييرات.": 71,
    "def total(prices: dict[str, float], names: list[str]) -> float:\n"
    "    return sum(prices.get(name, 0.0) for name in names if name not in SKIPPED)": 43,
    "2024-05-17,apple,1249.50,12,EUR\n2024-05-18,pear,889.00,7,EUR\n2024-05-19,plum,13.75,1200,USD": 53,
}


@pytest.mark.parametrize(("text", "tokens"), RECORDED.items())
def test_tokens_are_estimated_within_a_quarter(text: str, tokens: int) -> None:
    assert abs(estimated(text) - tokens) <= MOST_WRONG * tokens


def test_a_missing_package_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"needs lxml\. Add the lines of requirements-file-search\.txt"):
        check_packages(lambda module: None if module == "lxml" else module)
