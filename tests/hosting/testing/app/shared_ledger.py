"""The conftest.py of the app's tests: one ledger for all, so the settings stay the same and the tests share a host."""

import pytest

pytest_plugins = ["hosting.testing.plugin"]


@pytest.fixture(scope="session")
def ledger_file(request, tmp_path_factory):
    return tmp_path_factory.mktemp("ledger") / f"{getattr(request, 'param', 'ledger')}.txt"


@pytest.fixture(autouse=True)
def ledger(ledger_file):
    ledger_file.write_text("", encoding="utf-8")
    return ledger_file


@pytest.fixture
def agent_app_settings(ledger_file):
    return {"LEDGER": str(ledger_file)}
