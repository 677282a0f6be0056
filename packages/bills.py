"""Writes beside each wheel of a folder its bill of materials: what an installation of it brings, as CycloneDX.

    python packages/bills.py dist

The packages are those that the wheel's pins give today, installed into an environment of their own. Run it with a
Python that has requirements-release.txt.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.utils import parse_wheel_filename


def main(folder: Path) -> int:
    """Write the bills and print their paths; raises `CalledProcessError` if a tool fails."""
    for wheel in sorted(folder.glob("*.whl")):
        print(write_bill(wheel))
    return 0


def write_bill(wheel: Path) -> Path:
    """Install the wheel, list all that is there, and return the list's path. The wheel is its subject."""
    name, version, _, _ = parse_wheel_filename(wheel.name)
    bill = wheel.with_name(f"{name}-{version}.cdx.json")
    with tempfile.TemporaryDirectory() as environment:
        run = [sys.executable, "-m"]
        subprocess.run([*run, "uv", "venv", "--quiet", "--python", sys.executable, environment], check=True)
        subprocess.run([*run, "uv", "pip", "install", "--quiet", "--python", environment, str(wheel)], check=True)
        # Its own validation would be of what is changed below, and takes 13 of 14 s: the tests validate the bill.
        options = ["--no-validate", "--output-reproducible", "-o", str(bill)]
        subprocess.run([*run, "cyclonedx_py", "environment", *options, environment], check=True)
    found = json.loads(bill.read_text(encoding="utf-8"))
    (subject,) = [one for one in found["components"] if one["name"] == name]
    subject.pop("externalReferences", None)  # where the wheel lay on this machine
    found["components"].remove(subject)
    found["metadata"]["component"] = subject
    bill.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return bill


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
