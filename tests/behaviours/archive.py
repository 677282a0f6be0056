"""What long threads promise: their older part is kept elsewhere, and nobody who reads them can tell."""

BEHAVIOURS = {
    "archive.keeps-entries": "An entry that was put is read back by every process as the JSON text that it was.",
    "archive.put-again": "Entries put again under their positions replace themselves and nothing else, however they "
    "were cut; a late writer takes nothing away.",
    "archive.tells-what-is-missing": "An entry that the archive lacks is named, and never left out without a word.",
    "archive.erases": "What is erased of a thread is in no file of the archive, and no other thread loses anything.",
    "archive.unavailable": "An archive that cannot be reached is reported as such and tried again by the next call.",
    "archive.moves-the-oldest": "Once a document has passed its budget, its oldest turns move, whole and in order, "
    "until a quarter of the budget is free; each entry moves once.",
    "archive.counts-all": "Message counts, tokens and times are of the whole conversation, wherever its entries are.",
    "archive.survives-kill": "A process that dies around a move loses and doubles no entry.",
    "archive.failure-costs-no-answer": "A turn whose move fails is answered and kept; the log says so and the "
    "next turn mends it.",
    "archive.makes-room": "A document above its limit is not stored while the archive is away; its thread's runs go "
    "on, and it follows when the archive is back.",
    "archive.never-splits": "A turn is never cut, nor a call parted from its result or its approval.",
    "archive.forgets": "A reset or delete takes the archived part too, and waits for an archive that is away.",
    "archive.one-conversation": "Pages, counts, export and delete over HTTP are of one conversation; an entry's "
    "position stays.",
    "archive.calls": "A move is one call to the storage account, and a page of however long a thread a few.",
    "archive.outlives-the-instance": "On Azure an archive that other instances cannot read is refused at start-up.",
    "archive.cut-to-the-context": "A model is sent what its agent's compaction leaves, and without one about as many "
    "tokens as a setting says, by an estimate that knows pictures, files and other scripts; a call and its result are "
    "left out together.",
    "archive.own-messages-sent": "The messages of a run are sent however long they are.",
    "archive.summary-kept": "A summary that a `CompactionProvider` makes is kept with the thread, begins the next "
    "turns, and is made once.",
    "archive.stored-as-said": "Compaction shortens nothing that is stored and leaves no trace in it.",
    "archive.page": "docs/explanation/long-threads.md shows an example that runs, what is logged, and every archive.",
}
