"""Office files and PDFs as small as they can be, made by code: well-formed ones, and parts for broken ones."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape

RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        for path, part in parts.items():
            package.writestr(path, part)
    return file.getvalue()


def relations(targets: Mapping[str, tuple[str, str]]) -> str:
    """Return the relations of a part: the kind and the target by id."""
    lines = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{RELATIONS}">{lines}</Relationships>'


def document_xml(body: str) -> str:
    """Return a document's main part."""
    return f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph of a document, of the style with that id."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"


def docx(body: str, more: Mapping[str, str | bytes] | None = None, main: str | None = None) -> bytes:
    """Return a document whose style `berschrift1` is a heading, as in German Word."""
    style = (
        f'<w:styles xmlns:w="{WORD}"><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>'
    )
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations({"r1": ("officeDocument", "word/document.xml")}),
        "word/_rels/document.xml.rels": relations({"r1": ("styles", "styles.xml"), "r2": ("footnotes", "notes.xml")}),
        "word/styles.xml": style,
        "word/document.xml": main or document_xml(body),
    }
    return zipped(parts | dict(more or {}))


def slide_xml(title: str, lines: Iterable[str]) -> str:
    """Return a slide with a title, text and a number that is not part of its text."""

    def shape(placeholder: str, text: str) -> str:
        body = f"<p:txBody><a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p></p:txBody>"
        return f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{placeholder}"/></p:nvPr></p:nvSpPr>{body}</p:sp>'

    shapes = shape("title", title) + "".join(shape("body", line) for line in lines) + shape("sldNum", "77")
    return f'<p:sld xmlns:p="{SLIDES}" xmlns:a="{DRAWING}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>'


def pptx(slides: Iterable[str], more: Mapping[str, str | bytes] | None = None) -> bytes:
    """Return a presentation of the slides; the file names count backwards, as the order is the presentation's."""
    parts: dict[str, str | bytes] = {"_rels/.rels": relations({"r1": ("officeDocument", "ppt/presentation.xml")})}
    targets, ids = {}, []
    for number, slide in enumerate(slides):
        path = f"slides/slide{1000 - number}.xml"
        parts[f"ppt/{path}"] = slide
        targets[f"r{number}"] = ("slide", path)
        ids.append(f'<p:sldId id="{256 + number}" r:id="r{number}"/>')
    listed = f"<p:sldIdLst>{''.join(ids)}</p:sldIdLst>"
    parts["ppt/presentation.xml"] = f'<p:presentation xmlns:p="{SLIDES}" xmlns:r="{OFFICE}">{listed}</p:presentation>'
    parts["ppt/_rels/presentation.xml.rels"] = relations(targets)
    return zipped(parts | dict(more or {}))


def rows_xml(rows: Iterable[Iterable[str | float]]) -> str:

    def cell(value: str | float) -> str:
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    return f'<worksheet xmlns="{SHEETS}"><sheetData>{lines}</sheetData></worksheet>'


def xlsx(sheets: Mapping[str, str], more: Mapping[str, str | bytes] | None = None) -> bytes:
    """Return a workbook of the sheets by name."""
    parts: dict[str, str | bytes] = {"_rels/.rels": relations({"r1": ("officeDocument", "xl/workbook.xml")})}
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{number}" r:id="r{number}"/>' for number, name in enumerate(sheets, 1)
    )
    parts["xl/workbook.xml"] = f'<workbook xmlns="{SHEETS}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
    targets = {f"r{number}": ("worksheet", f"worksheets/sheet{number}.xml") for number in range(1, len(sheets) + 1)}
    parts["xl/_rels/workbook.xml.rels"] = relations(targets)
    parts |= {f"xl/worksheets/sheet{number}.xml": sheet for number, sheet in enumerate(sheets.values(), 1)}
    return zipped(parts | dict(more or {}))


def pdf_objects(objects: Mapping[int, str | bytes], trailer: str = "/Root 1 0 R") -> bytes:
    """Return a PDF of these objects with its table of them."""
    file = io.BytesIO()
    file.write(b"%PDF-1.7\n")
    offsets = {}
    for number, value in objects.items():
        offsets[number] = file.tell()
        file.write(b"%d 0 obj\n%s\nendobj\n" % (number, value.encode() if isinstance(value, str) else value))
    table = file.tell()
    size = max(objects) + 1
    file.write(b"xref\n0 %d\n0000000000 65535 f \n" % size)
    for number in range(1, size):
        file.write(b"%010d 00000 %s \n" % (offsets.get(number, 0), b"n" if number in offsets else b"f"))
    file.write(b"trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer.encode(), table))
    return file.getvalue()


def shown(text: str, declared: int | None = None) -> bytes:
    """Return the stream of a page that shows the text; its length may lie."""
    drawn = b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % text.encode()
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn) if declared is None else declared, drawn)


def pdf_pages(texts: Iterable[str], bookmarks: Mapping[int, str] | None = None) -> dict[int, str | bytes]:
    pages = list(texts)
    first = 10
    kids = " ".join(f"{first + 2 * index} 0 R" for index in range(len(pages)))
    objects: dict[int, str | bytes] = {
        1: "<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }
    for index, text in enumerate(pages):
        page = first + 2 * index
        objects[page] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {page + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects[page + 1] = shown(text)
    titles = list((bookmarks or {}).items())
    objects[4] = (
        f"<< /Type /Outlines /First 5 0 R /Last {4 + len(titles)} 0 R /Count {len(titles)} >>" if titles else "<< >>"
    )
    for number, (index, title) in enumerate(titles, 5):
        following = f"/Next {number + 1} 0 R" if number < 4 + len(titles) else ""
        objects[number] = f"<< /Title ({title}) /Parent 4 0 R {following} /Dest [{first + 2 * index} 0 R /Fit] >>"
    return objects


def pdf(texts: Iterable[str], bookmarks: Mapping[int, str] | None = None) -> bytes:
    """Return a PDF with a page for each text, and at most five bookmarks."""
    return pdf_objects(pdf_pages(texts, bookmarks))
