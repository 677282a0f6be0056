"""Why a file has no text for the search: a stable code and a sentence for each reason.

The child names the code alone. The sentence is the app's own, so nothing of a hostile file stands in it.
"""

from __future__ import annotations

EMPTY = "file_empty"
NO_TEXT = "file_has_no_text"
NOT_READ = "file_kind_not_read"
DAMAGED = "file_damaged"
ENCRYPTED = "file_encrypted"
FORBIDDEN_XML = "file_has_forbidden_xml"
TOO_LARGE = "file_too_large"
EXPANDS = "file_expands_too_far"
TOO_MANY_PAGES = "file_has_too_many_pages"
TOO_MUCH_TEXT = "file_has_too_much_text"
TOO_SLOW = "file_takes_too_long"
TOO_MUCH_MEMORY = "file_takes_too_much_memory"
READER_ENDED = "file_ended_its_reader"

SENTENCES = {
    EMPTY: "The file is empty. Upload it again.",
    NO_TEXT: "The file has no text. If its pages are pictures, upload it with recognized text.",
    NOT_READ: "The file is of no kind that is read: text, Markdown, HTML, CSV, PDF, DOCX, PPTX or XLSX. Convert it.",
    DAMAGED: "The file is damaged. Open it in the program that wrote it, save it, and upload it again.",
    ENCRYPTED: "The file has a password, or is of an old Office format. Save it without one, as DOCX, PPTX or XLSX.",
    FORBIDDEN_XML: "The file declares XML entities, which no Office program writes. Save it again in one.",
    TOO_LARGE: "The file has more bytes than the search reads. Upload it in parts.",
    EXPANDS: "The file unpacks to more bytes than the search reads. Upload it in parts.",
    TOO_MANY_PAGES: "The file has more pages than the search reads. Upload it in parts.",
    TOO_MUCH_TEXT: "The file has more text than the search reads. Upload it in parts.",
    TOO_SLOW: "Reading the file takes longer than allowed. Upload it in parts.",
    TOO_MUCH_MEMORY: "Reading the file takes more memory than allowed. Upload it in parts.",
    READER_ENDED: "Reading the file ended its process, as a damaged file does. Save it again, or convert it.",
}


class UnreadableFileError(Exception):
    """The file has no text for the search; it is an error of this file alone."""

    def __init__(self, code: str, sentence: str) -> None:
        """The sentence is plain English, without a word of the file or of another program."""
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence

    @classmethod
    def of(cls, code: str) -> UnreadableFileError:
        """Return the error of a code; one that is none of ours is that of a process that ended."""
        known = code if code in SENTENCES else READER_ENDED
        return cls(known, SENTENCES[known])
