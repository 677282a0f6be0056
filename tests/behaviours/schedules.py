"""What is promised of schedules."""

BEHAVIOURS = {
    "schedules.routes": "A schedule is made, listed, read, paused, resumed and deleted by its routes, and shows its "
    "last and its next run (docs/guides/schedules.md).",
    "schedules.times": "A tick comes when the expression says in its time zone, a fixed time once a day also when the "
    "clocks are set; a clock that is set back repeats none (docs/guides/schedules.md).",
    "schedules.clock-ahead": "What a clock that was ahead dealt with silences no tick once the clock is right, and no "
    "tick has two runs (docs/guides/schedules.md).",
    "schedules.one-run-per-tick": "A tick has one run, whichever process dies, and however many clocks wake "
    "(docs/guides/schedules.md).",
    "schedules.lost-tick": "A tick whose host dies over it has its run half a minute later, however late its activity "
    "comes again, which delays no later tick; until then it is shown as the next run (docs/guides/schedules.md).",
    "schedules.missed": "Ticks that were missed have one run together, or none, as the schedule says "
    "(docs/guides/schedules.md).",
    "schedules.paused": "Nothing begins once a schedule is paused or deleted; a tick under way has its run first "
    "(docs/guides/schedules.md).",
    "schedules.deleted": "Of a deleted schedule nothing is left (docs/guides/schedules.md).",
    "schedules.made-once": "A key makes one schedule, however often the request is sent (docs/guides/schedules.md).",
    "schedules.owners": "An owner has so many schedules of their own; they are in their export, and their erasure ends "
    "them (docs/guides/schedules.md).",
    "schedules.clock-lost": "Whoever reads a schedule that is overdue and whose clock is gone starts it again "
    "(docs/guides/schedules.md).",
    "schedules.new-agent": "A tick of a new agent that an instance of an older version gets is looked at again within "
    "a minute, and has its one run in time (docs/guides/redeploying.md).",
    "schedules.unknown-times": "A schedule whose time zone the machine does not know says so and waits; the others are "
    "listed and run (docs/guides/schedules.md).",
    "schedules.versions": "A schedule of a newer version is left to that version, and what it added stays.",
    "schedules.cost": "The engine keeps ids of a schedule alone, and an app may have none (docs/guides/schedules.md).",
}
"""The rules of docs/guides/schedules.md."""
