"""What is promised of forgetting: time to live, deletion and its receipt, what is kept beside a thread."""

BEHAVIOURS = {
    "erasure.time-to-live": "A thread of an agent with a time to live is deleted once so long has passed since "
    "its last answer, by its own document and the entity's clock.",
    "erasure.sweep": "Idle threads are asked in pages, a few at once, for a bounded time; what is left is the next "
    "sweep's. One timer asks whether their time is up, only where an agent has a time to live, another one, twice a "
    "day, whether events of theirs are too old.",
    "erasure.sweep-turns": "A sweep that is cut off, by its time, by a list that fails or by the death of its process, "
    "has the next one begin with the next agent.",
    "erasure.forgotten": "What is left of a deleted thread, its receipt included, goes AGENT_RECEIPT_DAYS after its "
    "erasure, and not while the thread lives again.",
    "erasure.message-wins": "A thread whose time is up is not deleted while a run of it waits or runs; whoever is "
    "refused or erased at that moment is told so.",
    "erasure.stored": "What is stored of a person is exported and erased, whichever agents, memories and settings the "
    "app has at that moment; the answer names the agents whose own providers were not reached (security.md).",
    "erasure.attachments": "Large pictures and files are kept beside their thread, once by hash, before the document "
    "refers to them; the model and an export get them back, and they go with the thread.",
    "erasure.unused-uploads": "What was uploaded and is referred to by no event, document or archived entry goes "
    "within a day, also where the thread has nothing else; what is younger than six hours stays, and whoever appends "
    "later than an hour after an upload puts it again.",
    "erasure.instances": "Finished durable instances that carried messages of a deleted thread go with it; those that "
    "run and those that are not there are listed in the receipt.",
    "erasure.files": "What was erased is in no file of the app's SQLite stores once that is answered, whichever "
    "request erased it (docs/reference/data.md).",
    "erasure.entity": "The entity of a deleted thread is purged once it has committed its end, and never at work; one "
    "that a late signal makes anew is in the receipt, and goes with the next deletion or sweep.",
    "erasure.inventory": "stored-names.md names everything that the app keeps, and what is left of a deleted thread.",
    "erasure.nothing-is-left": "What was said on a deleted thread is in no store that the tests can start, in whatever "
    "form they search for it.",
    "erasure.receipt": "A deletion leaves a receipt of what was deleted where: counts and hashes, no content.",
}
