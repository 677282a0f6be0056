"""What is promised of memories of owners."""

BEHAVIOURS = {
    "memory.across-threads": "What an agent remembers of an owner is given to its model in all threads of that owner, "
    "and gone once it is forgotten (docs/guides/memory.md).",
    "memory.routes": "An owner lists, adds, replaces, forgets and erases what an agent remembers of them "
    "(docs/guides/memory.md).",
    "memory.full": "A memory that is full refuses more and keeps what it has (docs/guides/memory.md).",
    "memory.given": "The model is given as much of a memory as fits: first what shares words with the message, then "
    "the newest (docs/guides/memory.md).",
    "memory.meaning": "With a client of embeddings, what is like the message comes first; a client that fails fails no "
    "run, and what it made is gone with its fact (docs/guides/memory.md).",
    "memory.workflows": "An agent that a workflow has too remembers the same there, of who began the workflow's run "
    "(docs/guides/memory.md).",
    "memory.owners": "Nobody but the owner is told what is remembered of them; it is in their export, and their "
    "erasure ends it (docs/guides/memory.md).",
    "memory.shared": "An app that knows no owners has a memory only where its author says that all callers share it "
    "(docs/guides/memory.md).",
    "memory.once": "What a run remembers is there once, whichever process dies, and two processes lose nothing of each "
    "other (docs/guides/memory.md).",
    "memory.versions": "A memory of a newer version is left to that version, and what it added stays.",
    "memory.cost": "An app without a memory has no routes of one (docs/guides/memory.md).",
}
"""The rules of docs/guides/memory.md."""
