"""What a wheel says of itself."""

import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path


def metadata(path: Path) -> Message:
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())
