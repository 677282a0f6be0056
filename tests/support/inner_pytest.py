"""pytest over small tests of a test, in this process where it can: a Python with pytest starts for half a second."""

from __future__ import annotations

import pytest

from tests.support.running_host import ROOT

IN_WORKERS = "xdist"


def run_pytest(pytester: pytest.Pytester, *arguments: str, apart: bool = False) -> pytest.RunResult:
    """Run pytest in the folder of `pytester` without the plugins that are installed, `apart` from this process or not.

    What it starts finds this project. Workers of pytest-xdist have a process that controls them and nothing else.
    """
    run = pytester.runpytest_subprocess if apart or IN_WORKERS in arguments else pytester.runpytest_inprocess
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("PYTHONPATH", str(ROOT))
        environ.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        return run("-p", "no:cacheprovider", *arguments)
