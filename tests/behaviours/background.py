"""What is promised of background agents."""

BEHAVIOURS = {
    "background.is-plain": "The tools of a BackgroundAgentsProvider answer hosted as they do plain "
    "(docs/guides/background-agents.md).",
    "background.once": "A task of a background agent is begun once and found again, whichever process dies "
    "(docs/guides/background-agents.md).",
    "background.ends": "A run that ends without an answer ends the tasks that it asked for "
    "(docs/guides/background-agents.md).",
    "background.erased": "The export of a thread has its tasks, and its deletion erases them "
    "(docs/guides/background-agents.md).",
    "background.hidden": "A background agent is not listed, and no caller begins a run of it "
    "(docs/guides/background-agents.md).",
    "background.linked": "The timelines of a run and of its tasks name each other (docs/guides/background-agents.md).",
    "background.budgets": "What the tasks of an agent use counts for the agent's limit of tokens, and once for its "
    "budget, whichever process dies (docs/guides/background-agents.md).",
    "background.of-workflows": "The tasks of a workflow's agents are threads too, and the workflow's "
    "(docs/guides/background-agents.md).",
    "background.forks": "A fork reads the tasks of its origin and continues none (docs/guides/background-agents.md).",
}
"""The rules of docs/guides/background-agents.md."""
