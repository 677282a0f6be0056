"""Where the app runs, by the variables that hosts and platforms set for their workers."""

from __future__ import annotations

from collections.abc import Mapping

_NAME = "AZURE_FUNCTIONS_ENVIRONMENT"
_SITE = "WEBSITE_SITE_NAME"
_SET_BY_AZURE = (_SITE, "WEBSITE_INSTANCE_ID")
"""Either is enough: Flex Consumption sets only the first, App Service both."""

_SET_BY_HOSTS = ("AzureWebJobsScriptRoot", *_SET_BY_AZURE)
"""Core Tools, the host's container images and the local host of this project set the first."""


def site_name(environ: Mapping[str, str]) -> str:
    """Return the name of the function app on Azure; empty elsewhere."""
    return environ.get(_SITE, "")


def is_hosted(environ: Mapping[str, str]) -> bool:
    """Tell whether a Functions host runs the app; a test or a script that imports it is none."""
    return any(environ.get(name) for name in _SET_BY_HOSTS)


def is_production(environ: Mapping[str, str]) -> bool:
    """Tell whether the app serves others than its developer.

    The host's own rule: every environment but Development is, one without a name too. Local hosts name theirs; where
    no host runs the app nobody is served.
    """
    name = environ.get(_NAME, "").strip()
    return name.lower() != "development" if name else is_hosted(environ)


def needs_shared_stores(environ: Mapping[str, str]) -> bool:
    """Tell whether other instances must reach what this one stores: in production, and on Azure under any name.

    There one instance answers a request and another runs its agent, and a disk may end with its instance.
    """
    return is_production(environ) or any(environ.get(name) for name in _SET_BY_AZURE)
