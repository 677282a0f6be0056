"""What is promised of an agent's threads together: newest, waiting, figures (docs/reference/http-routes.md)."""

BEHAVIOURS = {
    "overview.newest": "Threads are listed by their last change with a title, how they stand and the origin of a fork, "
    "in pages (http-routes.md).",
    "overview.filters": "Lists have the threads that a filter names by metadata, state, time, agent and owner, and "
    "read no other; a filter that is not known is refused (docs/guides/metadata.md).",
    "overview.labels": "The owner of a thread names and pins it; pinned threads come first, and nothing else in its "
    "metadata changes, whoever writes at once (http-routes.md).",
    "overview.waiting": "What waits for approval is listed across threads and agents, the longest first.",
    "overview.figures": "Figures of an agent by day have its runs, failures by code, latencies and tokens; a run that "
    "was stopped is counted apart and is no failure.",
    "overview.exact": "Each run is counted once, whichever processes look at once and whichever dies.",
    "overview.free": "A turn writes nothing for the overview; whoever reads it reads what changed, and nothing else.",
    "overview.owners": "With owners, everybody sees their own threads, approvals and figures only.",
    "overview.operations": "An operator sees what each agent's runs are at, over all owners and processes, and whether "
    "all was looked at; runs write nothing for it (docs/guides/operations.md).",
    "overview.stuck": "What a dead process left is listed with its reason, and ends when an operator asks for it again "
    "(docs/guides/operations.md).",
    "overview.commands": "A command that asks a running app says of each refusal what to give instead: a key, who you "
    "are, or the address, which it quotes as you typed it (operations.md).",
}
