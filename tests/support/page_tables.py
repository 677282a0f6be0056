"""The tables of a page of docs/, as its readers see them."""

import re


def rows(page: str, first: str) -> list[list[str]]:
    """The cells of each row of the one table whose heading begins with `first`."""
    table = page[page.index(f"\n\n| {first} |") + 2 :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def refused_fields(page: str) -> set[str]:
    """The names in backquotes that a row of two cells says are refused."""
    return {
        name
        for names in re.findall(r"^\| ([^|]*) \| refused\b[^|]*\|$", page, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", names)
    }
