"""Refuses choices of a deployment that Azure would refuse late, or would take and nobody meant.

azd runs this before it provisions (azure.yaml), with the choices of deployment.md in the environment. Where Azure's
command line is there and signed in, Azure says which regions a service has; else the lists here do, which grow old.
Standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping

PLAN, ZONED_PLAN, SCHEDULER = "Flex Consumption", "Flex Consumption over zones", "a Durable Task Scheduler"
QUESTIONS = {
    PLAN: "functionapp list-flexconsumption-locations --query [].name --output tsv",
    ZONED_PLAN: "functionapp list-flexconsumption-locations --zone-redundant=true --query [].name --output tsv",
    SCHEDULER: "provider show --namespace Microsoft.DurableTask "
    "--query resourceTypes[?resourceType=='schedulers'].locations[] --output tsv",
}
# Those of zone-redundant storage, and of geo-zone-redundant storage: the others are paired with no region.
ZONED = (
    "australiaeast brazilsouth canadacentral centralindia centralus eastasia eastus eastus2 francecentral "
    "germanywestcentral israelcentral italynorth japaneast koreacentral mexicocentral northeurope norwayeast "
    "polandcentral qatarcentral southafricanorth southcentralus southeastasia spaincentral swedencentral "
    "switzerlandnorth uaenorth uksouth westeurope westus2 westus3"
)
PAIRED = (
    "australiaeast brazilsouth canadacentral centralindia centralus eastasia eastus eastus2 francecentral "
    "germanywestcentral japaneast koreacentral northeurope norwayeast southafricanorth southcentralus southeastasia "
    "swedencentral switzerlandnorth uaenorth uksouth westeurope westus2 westus3"
)
FLEX = (
    "australiaeast australiasoutheast brazilsouth canadacentral centralindia centralus eastasia eastus eastus2 "
    "francecentral germanywestcentral italynorth japaneast koreacentral northcentralus northeurope norwayeast "
    "southafricanorth southcentralus southeastasia southindia spaincentral swedencentral uaenorth uksouth ukwest "
    "westcentralus westeurope westus westus2 westus3"
)
# No list of the scheduler's regions is published: only Azure's command line says them.
KNOWN = {PLAN: FLEX, ZONED_PLAN: ZONED}
OWN_MODEL = ("AZURE_OPENAI_ENDPOINT", "OPENAI_BASE_URL", "OPENAI_API_KEY")


def refused(choices: Mapping[str, str], offered: Callable[[str], frozenset[str] | None]) -> Iterator[str]:
    """Iterate over a sentence for each choice that cannot be meant; `offered` is asked only for what was chosen."""
    for part in (_regions(choices, offered), _copies(choices), _network(choices), _models(choices), _others(choices)):
        yield from part


def _regions(choices: Mapping[str, str], offered: Callable[[str], frozenset[str] | None]) -> Iterator[str]:
    region = _plain(choices.get("AZURE_LOCATION", ""))
    services = [ZONED_PLAN if _is_true(choices, "ZONE_REDUNDANT") else PLAN]
    services += [SCHEDULER] if choices.get("DURABLE_BACKEND") == "scheduler" else []
    for service in services if region else ():
        there = offered(service)
        if there is not None and region not in there:
            yield (
                f"AZURE_LOCATION is {region}, which does not have {service}. Choose another with azd env set "
                f"AZURE_LOCATION NAME: {', '.join(sorted(there))}. That is Azure's list where az is signed in, else "
                "one of infra/choices.py that grows old."
            )


def _copies(choices: Mapping[str, str]) -> Iterator[str]:
    region, copies = _plain(choices.get("AZURE_LOCATION", "")), choices.get("STORAGE_REDUNDANCY") or "LRS"
    if _is_true(choices, "ZONE_REDUNDANT") and copies not in ("ZRS", "GZRS"):
        yield (
            f"ZONE_REDUNDANT is true and STORAGE_REDUNDANCY is {copies}, so what is stored would be in one zone. Set "
            "STORAGE_REDUNDANCY to ZRS or GZRS."
        )
    fitting = {"ZRS": ZONED, "GZRS": PAIRED}.get(copies)
    if region and fitting is not None and region not in fitting.split():
        yield (
            f"STORAGE_REDUNDANCY is {copies}, which storage in {region} does not have. Set it to another, or "
            f"AZURE_LOCATION to one of {', '.join(fitting.split())}."
        )
    if copies == "GRS" and region in ZONED.split() and region not in PAIRED.split():
        yield f"STORAGE_REDUNDANCY is GRS, and {region} is paired with no region. Set it to ZRS, or another region."


def _network(choices: Mapping[str, str]) -> Iterator[str]:
    if choices.get("PUBLIC_APP", "").lower() == "false" and not _is_true(choices, "VNET_ENABLED"):
        yield (
            "PUBLIC_APP is false and VNET_ENABLED is not true, so the app would be reached from everywhere. Set "
            "VNET_ENABLED to true, or PUBLIC_APP to true."
        )


def _models(choices: Mapping[str, str]) -> Iterator[str]:
    further = choices.get("FURTHER_MODELS", "")
    if further and not re.fullmatch(r" *[\w.-]+(=[1-9]\d*)?(, *[\w.-]+(=[1-9]\d*)?)*", further):
        yield (
            f"FURTHER_MODELS is {further!r}, and each of them is NAME or NAME=CAPACITY, with commas between them. Set "
            "it as in gpt-5=20,gpt-5-nano."
        )
    own = next((name for name in OWN_MODEL if choices.get(name)), None)
    for name in ("FURTHER_MODELS", "FOUNDRY_PROJECT") if own else ():
        if choices.get(name, "").lower() not in ("", "false"):
            yield f"{own} names a model of your own, so none is deployed, and {name} does nothing. Remove one of them."


def _others(choices: Mapping[str, str]) -> Iterator[str]:
    number, start = choices.get("DEPLOYMENT_NUMBER", ""), choices.get("BUDGET_START", "")
    if not re.fullmatch(r"[a-z0-9]{0,4}", number):
        yield (
            f"DEPLOYMENT_NUMBER is {number!r}, and names of vaults and accounts take digits and small letters of it, "
            "four at most. Set it to 2."
        )
    if choices.get("FILE_INDEX") == "search" and _is_true(choices, "CUSTOMER_MANAGED_KEY"):
        yield (
            "FILE_INDEX is search and CUSTOMER_MANAGED_KEY is true: the texts in Azure AI Search would not be under "
            "that key. Leave FILE_INDEX out, which keeps the index in the storage account."
        )
    if start and not re.fullmatch(r"\d{4}-\d{2}-01", start):
        yield f"BUDGET_START is {start!r}, which is not the first day of a month. Set it as in 2027-01-01."
    if start and not choices.get("ALERT_EMAIL"):
        yield "BUDGET_START is set and ALERT_EMAIL is not, so there would be no budget. Set ALERT_EMAIL."


def offered_by_azure(service: str) -> frozenset[str] | None:
    """Ask Azure; where it does not answer, return what is known here."""
    program = shutil.which("az")
    try:
        command = [program or "", *QUESTIONS[service].split()]
        asked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False) if program else None
    except (OSError, subprocess.TimeoutExpired):
        asked = None
    names = frozenset(map(_plain, asked.stdout.splitlines())) if asked and asked.returncode == 0 else frozenset()
    return names or (frozenset(KNOWN[service].split()) if service in KNOWN else None)


def _plain(name: str) -> str:
    """`West Europe` as Azure's templates have it."""
    return name.replace(" ", "").lower()


def _is_true(choices: Mapping[str, str], name: str) -> bool:
    return choices.get(name, "").lower() == "true"


def main() -> int:
    """Print what is refused; return 1 if something is."""
    sentences = list(refused(os.environ, offered_by_azure))
    print(*sentences, sep="\n", end="\n" if sentences else "", file=sys.stderr)
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
