"""infra/choices.py: what `azd up` refuses before Azure is asked for anything."""

import pytest

from infra.choices import refused

pytestmark = pytest.mark.behaviour("template.infra-choices")

FITTING = {
    "AZURE_ENV_NAME": "trial",
    "AZURE_LOCATION": "Sweden Central",
    "DURABLE_BACKEND": "scheduler",
    "STORAGE_REDUNDANCY": "GZRS",
    "ZONE_REDUNDANT": "true",
    "VNET_ENABLED": "true",
    "PUBLIC_APP": "false",
    "FURTHER_MODELS": "gpt-5=20, gpt-5-nano",
    "FOUNDRY_PROJECT": "true",
    "DEPLOYMENT_NUMBER": "2",
    "ALERT_EMAIL": "ops@example.com",
    "BUDGET_START": "2027-01-01",
}


def everywhere(service: str) -> frozenset[str]:
    """Azure has each service in two regions."""
    return frozenset({"swedencentral", "westeurope"})


@pytest.mark.parametrize("given", [{}, FITTING, {"AZURE_LOCATION": "westeurope", "OPENAI_API_KEY": "k"}])
def test_choices_that_can_be_meant_are_taken(given: dict[str, str]) -> None:
    assert list(refused(given, everywhere)) == []


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"AZURE_LOCATION": "North Pole", "ZONE_REDUNDANT": "", "STORAGE_REDUNDANCY": "", "DURABLE_BACKEND": ""},
            "AZURE_LOCATION is northpole, which does not have Flex Consumption. Choose another with azd env set "
            "AZURE_LOCATION NAME: swedencentral, westeurope. That is Azure's list where az is signed in, else one of "
            "infra/choices.py that grows old.",
        ),
        (
            {"STORAGE_REDUNDANCY": ""},
            "ZONE_REDUNDANT is true and STORAGE_REDUNDANCY is LRS, so what is stored would be in one zone. Set "
            "STORAGE_REDUNDANCY to ZRS or GZRS.",
        ),
        (
            {"VNET_ENABLED": "false"},
            "PUBLIC_APP is false and VNET_ENABLED is not true, so the app would be reached from everywhere. Set "
            "VNET_ENABLED to true, or PUBLIC_APP to true.",
        ),
        (
            {"FURTHER_MODELS": "gpt-5=many"},
            "FURTHER_MODELS is 'gpt-5=many', and each of them is NAME or NAME=CAPACITY, with commas between them. Set "
            "it as in gpt-5=20,gpt-5-nano.",
        ),
        (
            {"OPENAI_BASE_URL": "http://server/v1", "FURTHER_MODELS": ""},
            "OPENAI_BASE_URL names a model of your own, so none is deployed, and FOUNDRY_PROJECT does nothing. Remove "
            "one of them.",
        ),
        (
            {"FILE_INDEX": "search", "CUSTOMER_MANAGED_KEY": "true"},
            "FILE_INDEX is search and CUSTOMER_MANAGED_KEY is true: the texts in Azure AI Search would not be "
            "under that key. Leave FILE_INDEX out, which keeps the index in the storage account.",
        ),
        (
            {"DEPLOYMENT_NUMBER": "no-2"},
            "DEPLOYMENT_NUMBER is 'no-2', and names of vaults and accounts take digits and small letters of it, four "
            "at most. Set it to 2.",
        ),
        (
            {"BUDGET_START": "2027-01-15"},
            "BUDGET_START is '2027-01-15', which is not the first day of a month. Set it as in 2027-01-01.",
        ),
        (
            {"ALERT_EMAIL": ""},
            "BUDGET_START is set and ALERT_EMAIL is not, so there would be no budget. Set ALERT_EMAIL.",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_choice_that_nobody_can_mean_is_refused_with_what_to_do(changed: dict[str, str], sentence: str) -> None:
    assert list(refused({**FITTING, **changed}, everywhere)) == [sentence]


@pytest.mark.parametrize(
    ("copies", "region", "is_refused"),
    [
        ("LRS", "italynorth", False),
        ("GRS", "italynorth", True),
        ("GRS", "westus", False),
        ("ZRS", "italynorth", False),
        ("ZRS", "westus", True),
        ("GZRS", "italynorth", True),
        ("GZRS", "westus3", False),
    ],
)
def test_copies_are_refused_where_storage_has_none_such(copies: str, region: str, is_refused: bool) -> None:
    """In other zones where there are none, in a paired region where there is none."""
    said = list(refused({"AZURE_LOCATION": region, "STORAGE_REDUNDANCY": copies}, lambda service: None))

    assert [sentence.partition(",")[0] for sentence in said] == [f"STORAGE_REDUNDANCY is {copies}"] * is_refused
