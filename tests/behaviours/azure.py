"""What an app promises about where it runs: on a developer's machine, or for others."""

BEHAVIOURS = {
    "azure.which-is-production": "Production is every environment that is not called Development, as for the host; a "
    "process that no host started is none.",
    "azure.refuses-laptop-parts": "An app in production that uses the offline model, or that lets callers in without a "
    "key and does not say that this is meant, is refused at start-up by a sentence that says what to set.",
    "azure.refuses-older-documents": "An app in production whose engine would let an overtaken execution replace a "
    "newer document is refused at start-up by a sentence that names the line of host.json.",
    "azure.names-missing-worker-settings": "A setting that the Python worker needs and has not is named in a line that "
    "is printed at start-up, with what does not work without it.",
    "azure.turn-calls": "A plain turn makes at most four calls of the storage account, its entity's included, "
    "where one process has both.",
    "azure.costs-measured": "A turn takes of the storage account what the page on costs says, counted between two "
    "instances of the app.",
}
