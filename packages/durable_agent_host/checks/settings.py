"""An app's settings, here and in infra/: wrong or misspelt ones, missing ones, and the Python that runs it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from hosting.errors import ConfigurationError
from hosting.host_settings import WORKER_SETTINGS
from hosting.settings import AllSettings, Settings, SettingsPart, names_of
from packages.durable_agent_host.checks.app import PYTHONS, SETTINGS, AppFolder, Found

_OF_CORE_TOOLS = {"FUNCTIONS_WORKER_RUNTIME": "python", "AzureWebJobsStorage": "UseDevelopmentStorage=true"}


def setting_wrong(app: AppFolder) -> Iterator[Found]:
    """`setting-wrong`."""
    for place, values in _given(app):
        wrong = _refused(values)
        if wrong:
            yield place, wrong


def setting_unknown(app: AppFolder) -> Iterator[Found]:
    """`setting-unknown`."""
    for place, values in _given(app):
        known = names_of(_parts(values))
        for name in sorted(values):
            if name.upper().startswith("AGENT_") and name not in known:
                nearest = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.0)[0]
                yield place, f"there is no setting {name}, so it does nothing. Write {nearest}, or leave it out."


def setting_missing(app: AppFolder) -> Iterator[Found]:
    """`setting-missing`."""
    needed = {one.name: (one.value, one.without) for one in WORKER_SETTINGS}
    local = app.values(SETTINGS)
    for name, value in _OF_CORE_TOOLS.items():
        if local is not None and not local.get(name):
            yield SETTINGS, f"{name} is missing, without which Core Tools does not start. Set it to {value}."
    texts = "\n".join(app.bicep.values())
    for name, (value, without) in needed.items():
        if local is not None and not local.get(name):
            yield SETTINGS, f"{name} is missing: without it {without}. Set it to {value}."
        if app.bicep and name not in texts:
            yield "infra", f"no file sets {name}: without it {without}. Set it to {value} among the app's settings."


def python_version(app: AppFolder) -> Iterator[Found]:
    """`python-version`."""
    said = list(app.runtimes)
    said += [(".python-version", found) for found in re.findall(r"^\s*([\d.]+)", app.text(".python-version") or "")]
    for place, text in said:
        if ".".join(text.split(".")[:2]) not in PYTHONS:
            yield place, f"Python {text} is not supported. Write 3.13, or another from 3.11 to 3.14."


def anonymous_allowed(app: AppFolder) -> Iterator[Found]:
    """`anonymous-allowed`."""
    for place, name, value in app.deployed:
        if name == "AGENT_ANONYMOUS" and value == "allow":
            yield place, "AGENT_ANONYMOUS is 'allow', so the app starts in production without keys. Leave it out."


def infra_missing(app: AppFolder) -> Iterator[Found]:
    """`infra-missing`."""
    if app.text("azure.yaml") is not None and app.text("infra/main.bicep") is None:
        yield "infra/main.bicep", "azure.yaml is there and this is not, so `azd up` fails. Take the template's infra/."


def _refused(values: Mapping[str, str]) -> str | None:
    try:
        AllSettings(values, _parts(values))
    except ConfigurationError as error:
        return str(error)
    return None


def _parts(values: Mapping[str, str]) -> Sequence[type[SettingsPart]]:
    """Return the parts of an app's settings. Those of its features take a second to import, so only if one is given."""
    if values.keys() <= set(names_of([Settings])):
        return [Settings]
    from hosting.assembly import SETTINGS as PARTS

    return PARTS


def _given(app: AppFolder) -> Iterator[tuple[str, dict[str, str]]]:
    name = SETTINGS if app.values(SETTINGS) is not None else f"{SETTINGS}.template"
    yield name, {key: value for key, value in app.settings.items() if key.upper().startswith("AGENT_")}
    for place, key, value in app.deployed:
        if key.upper().startswith("AGENT_"):
            yield place, {key: value}
