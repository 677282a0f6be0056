"""What the documentation promises of itself."""

BEHAVIOURS = {
    "docs.clients": "The tables of what official clients can use name tests that there are, all that each client has, "
    "and the figure that is counted.",
    "docs.error-codes": "Every error code stands in docs/reference/http-errors.md with its status, and no other.",
    "docs.commands-work": "Every command of a page exists, and needs no activated environment; "
    "commands.md has those of dev.py and of the library.",
    "docs.durability": "Each row of the tables of why-it-is-safe.md and crash-points.md is a promise of "
    "this manifest and links a test that shows it.",
    "docs.fields-and-routes": "Every route stands in docs/reference/http-routes.md, every field and header in "
    "http-runs.md.",
    "docs.observability": "observability.md has the log's line, the loggers, the spans' attributes and a set-up "
    "that works as it stands.",
    "docs.site": "One command makes a site of all pages, and fails at a link to a page, a heading or a file that "
    "is not there.",
    "docs.getting-started": "Each command of getting-started.md prints what it shows, and its test passes; the "
    "cloud is left out.",
    "docs.file-costs": "The month of 10,000 documents in costs.md follows from its figures.",
    "docs.tutorials": "Each command of the other tutorials prints what it shows, and what they have their reader make "
    "works in a browser, over a killed server too.",
    "docs.tools": "The tools of docs/guides/tools.md do what it says of them.",
    "docs.triggers": "The examples of docs/guides/triggers.md are apps, and its tables have all options.",
    "docs.workflows": "The first app of docs/guides/workflows.md is one, and answers.",
    "docs.hosting": "The app of hosting.md serves its two agents, and an update as in docs/guides/packages.md "
    "replaces the whole library.",
    "docs.budgets": "The apps of budgets.md and limits.md start, and an owner reads of a day what the first shows.",
    "docs.repository": "The repository's address stands in one file, and each page that has you clone it "
    "names that one.",
    "docs.gallery": "The template passes each static rule of the template gallery, and its entry there has what "
    "is asked.",
    "docs.moving": "docs/guides/moving.md has every option and method of the other package, and no other.",
    "docs.surfaces": "The table of docs/reference/surfaces.md has routes, fields and MCP arguments that there are, "
    "and the page asks the routes of which it says so.",
    "docs.glossary": "The ids that docs/reference/glossary.md calls the same are the same.",
    "docs.cited-pages": "Each page that the code, its tests or this manifest cite exists.",
    "docs.words": "Pages and messages have one word for each thing, and none of a private dialect.",
    "docs.plain": "No page or message has a sentence of more than 30 words, and no page a word that stands for a noun.",
    "docs.examples-run": "The requests at the top of http-runs.md, streaming.md and forks.md get what "
    "these pages show.",
}
