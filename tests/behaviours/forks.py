"""Threads that begin with what another one says (docs/guides/forks.md)."""

BEHAVIOURS = {
    "fork.whole": "A fork is a thread of its own with all entries of its origin up to some point, archived ones and "
    "their pictures and files too, and neither sees what is said on the other from then on.",
    "fork.at": "A fork ends at the end of the conversation, or at or before a run or an entry, between turns; a point "
    "that is not there is refused by name, and runs and approvals that wait are not copied.",
    "fork.alone": "A fork and its origin are deleted and reset each by itself, whenever and whichever first: what goes "
    "with one is in no store any more, and the other keeps all that it has.",
    "fork.cost": "A fork at an entry, or at a run that the log has, costs the same whatever the length of its origin, "
    "which may have copies of its own; nothing archived is copied before the origin goes; and who does not fork pays "
    "nothing for it.",
    "fork.once": "The same request, by its given id or its idempotency key, finds the fork that it made, in whichever "
    "process; of two requests for one id one counts, and the other gets the same thread or is refused.",
    "fork.owner": "A fork is its origin's owner's, and nobody else makes one.",
    "fork.killed": "Wherever a process dies, a fork is a whole thread or none: the same request finishes it, and where "
    "nobody asks again the sweep over uploads finishes it or removes what was put for it.",
}
