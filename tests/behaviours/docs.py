"""What the documentation promises of itself."""

BEHAVIOURS = {
    "docs.error-codes": "Every error code stands in docs/http-api.md with its status, and no other.",
    "docs.commands-work": "Every command of a page exists, and needs no activated environment.",
    "docs.durability": "Each row of what is killed on docs/why-it-is-safe.md and docs/architecture.md is a promise of "
    "this manifest and links a test that shows it.",
    "docs.fields-and-routes": "Every field, header and route stands in docs/http-api.md.",
    "docs.observability": "docs/observability.md has the log's line, the loggers, the spans' attributes and a set-up "
    "that works as it stands.",
    "docs.site": "One command makes a site of all pages, and fails at a link to a page, a heading or a file that "
    "is not there.",
    "docs.getting-started": "Each command of docs/getting-started.md prints what it shows, and its test passes; the "
    "cloud is left out.",
    "docs.tools": "The tools of docs/tools.md do what it says of them.",
    "docs.workflows": "The first app of docs/workflows.md is one, and answers.",
    "docs.hosting": "The app of docs/hosting.md serves its two agents, and an update there replaces the whole library.",
    "docs.budgets": "The apps of docs/budgets.md start, and an owner reads of a day what it shows.",
    "docs.repository": "The repository's address stands in one file, and each page that has you clone it "
    "names that one.",
    "docs.gallery": "The template passes each static rule of the template gallery, and its entry there has what "
    "is asked.",
    "docs.surfaces": "The table of docs/README.md has routes, fields and MCP arguments that there are, and the page "
    "asks the routes of which it says so.",
    "docs.glossary": "The ids that docs/glossary.md calls the same are the same.",
    "docs.cited-pages": "Each page that the code, its tests or this manifest cite exists.",
    "docs.words": "Pages and messages have one word for each thing, and none of a private dialect.",
    "docs.examples-run": "The requests at the top of docs/http-api.md, docs/streaming.md and docs/forks.md get what "
    "these pages show.",
}
