"""The platform's limit of a function, by host.json and by the app setting over it."""

import json
from pathlib import Path
from typing import Any

import pytest

from hosting.errors import ConfigurationError
from hosting.host_settings import function_timeout_seconds

OVERRIDE = "AzureFunctionsJobHost__functionTimeout"


@pytest.mark.parametrize(
    ("timeout", "environ", "seconds"),
    [
        (None, {}, 1800),
        ("00:10:00", {}, 600),
        ("1.00:00:01", {}, 86_401),
        ("-1", {}, None),
        ("00:10:00", {OVERRIDE: "01:00:00"}, 3600),
        ("00:10:00", {OVERRIDE: "-1"}, None),
    ],
)
def test_the_platform_s_limit_is_the_override_else_host_json_else_the_flex_plan_s(
    tmp_path: Path, timeout: str | None, environ: dict[str, str], seconds: float | None
) -> None:
    """None is no limit."""
    host = {} if timeout is None else {"functionTimeout": timeout}
    (tmp_path / "host.json").write_text(json.dumps(host), encoding="utf-8")

    assert function_timeout_seconds(tmp_path, environ) == seconds


@pytest.mark.parametrize("timeout", ["5 minutes", 300, "00:05:00\n"])
def test_a_function_timeout_that_the_platform_would_not_take_is_refused(tmp_path: Path, timeout: Any) -> None:
    """By a sentence that shows it."""
    (tmp_path / "host.json").write_text(json.dumps({"functionTimeout": timeout}), encoding="utf-8")

    with pytest.raises(ConfigurationError, match=r"^functionTimeout is .*: it must be"):
        function_timeout_seconds(tmp_path, {})
