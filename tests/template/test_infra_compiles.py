"""infra/ by the compiler's rules that a parser can see, for the compiler itself is on few machines that run this."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.template.bicep import INFRA


@pytest.mark.behaviour("template.infra-compiles")
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bicep") is None, reason="no bicep on the path: the files are parsed, not compiled")
def test_the_bicep_compiler_takes_the_files_without_a_warning(tmp_path: Path) -> None:
    """What the parser cannot see: types, and properties that a resource does not have."""
    command = ["bicep", "build", str(INFRA / "main.bicep"), "--outfile", str(tmp_path / "main.json")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
