"""`python -m tests.recorded.compare [NAME ...]`: what the local host does like the real one, label by label.

Prints N of M for each recording and every difference that the list in recorded-exchanges.md does not know; exits with 1
when there is one.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.recorded.exchanges import Exchange, paired, read_exchanges, read_payloads, unmatched
from tests.recorded.hosted import ALL, RECORDINGS, Recording, Seen, drive
from tests.support.running_host import ROOT

_CONTEXT = 80
PAGE = ROOT / "docs" / "contributing" / "recorded-exchanges.md"
HEADING = "# Recorded exchanges that come out differently"
_ROW = re.compile(r"\| (?P<run>[\w. ]+) \| (?P<labels>.*) \| (?P<why>.*) \|")
_LABEL = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Known:
    """One label of one run that may differ, `*` standing for any text; `sometimes` when it need not.

    What the newest host does otherwise, each older one may do too; a run of an older one has its name after it.
    """

    run: str
    label: str
    why: str

    @property
    def sometimes(self) -> bool:
        """Tell whether the difference depends on timing."""
        return self.why.startswith("Timing:")

    def names(self, run: str, label: str) -> bool:
        """Tell whether the entry is about this label of this run."""
        pattern = ".*".join(re.escape(part) for part in self.label.split("*"))
        return self.run in (run, run.partition(" ")[0]) and re.fullmatch(pattern, label, re.DOTALL) is not None


def known_differences(page: Path = PAGE) -> list[Known]:
    """Return the entries of the page's table, one for each label of each row."""
    _, _, rest = page.read_text(encoding="utf-8").partition(HEADING)
    return list(_entries(rest.partition("\n## ")[0].splitlines()))


def _entries(lines: list[str]) -> Iterator[Known]:
    for line in lines:
        row = _ROW.fullmatch(line)
        if row:
            yield from (Known(row["run"], label, row["why"]) for label in _LABEL.findall(row["labels"]))


@dataclass(frozen=True)
class Difference:
    """One recorded exchange or payload that did not come out the same."""

    label: str
    text: str


@dataclass(frozen=True)
class Report:
    """How one recording of one host came out, by its name in the list of differences."""

    name: str
    total: int
    differences: tuple[Difference, ...]

    def unknown(self, known: Sequence[Known]) -> list[Difference]:
        """Return the differences that the list does not name."""
        return [
            difference
            for difference in self.differences
            if not any(entry.names(self.name, difference.label) for entry in known)
        ]

    def stale(self, known: Sequence[Known]) -> list[Known]:
        """Return the entries of the list that nothing bears out any more."""
        mine = [entry for entry in known if entry.run == self.name and not entry.sometimes]
        labels = [difference.label for difference in self.differences]
        return [entry for entry in mine if not any(entry.names(self.name, label) for label in labels)]

    def __str__(self) -> str:
        same = self.total - len(self.differences)
        return f"{self.name}: {same} of {self.total} exchanges and payloads as recorded"


def compare(recording: Recording, folder: Path) -> list[Report]:
    """Run the recording's app in the folder once, and return how that compares with each host that was recorded."""
    seen = drive(recording, folder)
    return [_report(name, recording, RECORDINGS / host, seen) for name, host in recording.hosts.items()]


def _report(name: str, recording: Recording, host: Path, seen: Seen) -> Report:
    exchanges = list(_exchange_pairs(recording, host, seen))
    recorded = read_payloads(host / recording.payloads)
    missing = unmatched(recorded, read_payloads(seen.payloads))
    differences = [_difference(theirs, ours) for theirs, ours in exchanges if theirs != ours]
    differences += [Difference(f"payload {payload.label}", payload.content) for payload in missing]
    return Report(name, len(exchanges) + len(recorded), tuple(differences))


def _exchange_pairs(recording: Recording, host: Path, seen: Seen) -> Iterator[tuple[Exchange, Exchange | None]]:
    if recording.exchanges is None:
        return
    recorded = [exchange for exchange in read_exchanges(host / recording.exchanges) if exchange.run == "main"]
    yield from paired(recorded, read_exchanges(seen.exchanges))


def _difference(theirs: Exchange, ours: Exchange | None) -> Difference:
    if ours is None:
        return Difference(theirs.label, "no such exchange")
    parts = ("status", "headers", "body")
    found = [(part, str(getattr(theirs, part)), str(getattr(ours, part))) for part in parts]
    return Difference(theirs.label, "\n".join(_shown(*each) for each in found if each[1] != each[2]))


def _shown(part: str, theirs: str, ours: str) -> str:
    """Return the first place where the two texts part, with some of what stands around it."""
    pairs = enumerate(zip(theirs, ours, strict=False))
    place = next((index for index, (one, other) in pairs if one != other), min(len(theirs), len(ours)))
    around = slice(max(0, place - _CONTEXT), place + _CONTEXT)
    return f"  {part}: recorded ...{theirs[around]}\n  {part}: here     ...{ours[around]}"


def main(names: Sequence[str]) -> int:
    """Compare the named recordings, or all of them."""
    if not RECORDINGS.is_dir():
        print(f"There are no recordings at {RECORDINGS}.")
        return 1
    known = known_differences()
    unknown = 0
    for recording in ALL:
        if not names or recording.name in names:
            with tempfile.TemporaryDirectory() as folder:
                reports = compare(recording, Path(folder))
            unknown += sum(_print(report, known) for report in reports)
    return 1 if unknown else 0


def _print(report: Report, known: Sequence[Known]) -> int:
    unknown, stale = report.unknown(known), report.stale(known)
    print(f"{report}; {len(report.differences) - len(unknown)} differ as docs/contributing/recorded-exchanges.md says")
    for difference in unknown:
        print(f"\n{difference.label}\n{difference.text[:1000]}")
    for entry in stale:
        print(f"\n{entry.label}: listed in docs/contributing/recorded-exchanges.md, but it does not differ")
    return len(unknown) + len(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
