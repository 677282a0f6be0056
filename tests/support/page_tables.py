"""The tables of a page of docs/, as its readers see them."""


def rows(page: str, first: str) -> list[list[str]]:
    """The cells of each row of the one table whose heading begins with `first`."""
    table = page[page.index(f"\n\n| {first} |") + 2 :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
