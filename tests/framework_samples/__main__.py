"""Host the Python samples of agent-framework, as they are, and say what came of each.

    python dev.py test --samples FOLDER [PART...]

FOLDER is `python/samples` of a checkout of agent-framework; PART is the beginning of a path in it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.framework_samples.trial import Outcome, tried

AT_ONCE = 2
ORDER = ("hosted", "hosted with a limit", "refused", "fails", "not tried")


def main(arguments: Sequence[str]) -> int:
    """Try the samples, print the tables, and write each outcome as a line of JSON if that is asked for."""
    parser = argparse.ArgumentParser(prog="dev.py test --samples")
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--json", type=Path, help="write each outcome to this file")
    options = parser.parse_args(arguments)
    root = options.folder.resolve()
    samples = [path for path in sorted(root.rglob("*.py")) if is_sample(root, path, options.parts)]
    if not samples:
        parser.error(f"{root} has no samples of that name. Give python/samples of a checkout of agent-framework.")
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for outcome in pool.map(lambda sample: tried(root, sample), samples):
            outcomes.append(outcome)
            print(f"{len(outcomes)}/{len(samples)} {outcome.sample}: {outcome.result} {outcome.why}"[:300], flush=True)
    print(table(outcomes))
    if options.json is not None:
        lines = [json.dumps({"sample": one.sample, "result": one.result, "why": one.why}) for one in outcomes]
        options.json.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def is_sample(root: Path, path: Path, parts: Sequence[str]) -> bool:
    """Return whether the file is a program that a person starts, and is one of the parts that were named."""
    name = path.relative_to(root).as_posix()
    if parts and not name.startswith(tuple(parts)):
        return False
    text = path.read_text(encoding="utf-8")
    return "__main__" in text and "agent_framework" in text


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes by kind, and the reasons of those that are not hosted, as Markdown."""
    kinds: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        kinds.setdefault(outcome.kind, Counter())[outcome.result] += 1
    lines = ["", f"| kind | {' | '.join(ORDER)} |", f"| --- |{' --- |' * len(ORDER)}"]
    for kind, counts in kinds.items():
        lines.append(f"| {kind} | {' | '.join(str(counts[result]) for result in ORDER)} |")
    total = Counter(outcome.result for outcome in outcomes)
    lines += [
        f"| all | {' | '.join(str(total[result]) for result in ORDER)} |",
        "",
        "| result | why | samples |",
        "| --- | --- | --- |",
    ]
    reasons = Counter((outcome.result, outcome.why) for outcome in outcomes if outcome.why)
    for (result, why), count in sorted(reasons.items(), key=lambda item: (ORDER.index(item[0][0]), -item[1])):
        lines.append(f"| {result} | {why} | {count} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
