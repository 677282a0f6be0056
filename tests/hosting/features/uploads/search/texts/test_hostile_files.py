"""Files made to break what reads them: each has a code and a sentence or text, and the next file is read."""

from __future__ import annotations

import asyncio

import pytest

from hosting.features.uploads.search.texts.refusals import SENTENCES, UnreadableFileError
from tests.support.hostile_files import HOSTILE, LIMITS, TEXT, HostileFile
from tests.support.office_files import pdf
from tests.support.texts import read_pieces, read_text

pytestmark = pytest.mark.slow


async def end_of(hostile: HostileFile) -> str:
    """Return the code that the file ends in, or `TEXT`."""
    try:
        await read_pieces(hostile.made(), hostile.name, hostile.media_type, LIMITS)
    except UnreadableFileError as error:
        return error.code if error.sentence == SENTENCES[error.code] else error.sentence
    return TEXT


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: repr(hostile.name[:20]))
async def test_a_hostile_file_ends_within_the_limits(hostile: HostileFile) -> None:
    assert await end_of(hostile) in hostile.ends


async def test_what_an_entity_names_is_not_read() -> None:
    hostile = next(file for file in HOSTILE if file.name == "fetching.docx")

    with pytest.raises(UnreadableFileError, match="declares XML entities"):
        await read_pieces(hostile.made(), hostile.name)


async def test_a_good_file_is_read_among_hostile_ones() -> None:
    small = [file for file in HOSTILE if file.name in ("noise.pdf", "corners.xlsx", "laughs.docx", "deep.html")]
    *ends, text = await asyncio.gather(*map(end_of, small), read_text(pdf(["It is fine."])))

    assert text == "It is fine.\n\n"
    assert set(ends) == {"file_damaged", "file_takes_too_much_memory", "file_has_forbidden_xml", TEXT}
