"""What users are promised of the search in files (docs/guides/file-search.md)."""

BEHAVIOURS = {
    "file-search.ready": "A file that is stored becomes ready for search by a durable job, and says how far it is.",
    "file-search.once": "A job that is killed anywhere goes on, and never embeds a recorded batch of chunks again.",
    "file-search.retried": "While the client of embeddings is away a job tries again after growing pauses, and in the "
    "end says why it failed.",
    "file-search.ended": "A job that does not lead on ends: the file says why, and no client is asked without end.",
    "file-search.models": "Vectors of two models are never compared: files of another model are embedded again.",
    "file-search.replaced": "What an older model or size of chunks made of a file goes once a newer one is ready, "
    "whichever process dies, and never while the older app is at work.",
    "file-search.found": "An agent finds passages by meaning and by words, in the files of its thread, of itself and "
    "of the thread's owner, and in nothing of anybody else.",
    "file-search.within": "An agent within the run of another one, as a tool or in a workflow, searches the files "
    "of that run, and the answer cites what it found.",
    "file-search.bounded": "A search gives the model about as many tokens as the agent says, as data and with marks "
    "to cite by.",
    "file-search.cited": "What an answer cites is a file with its page and place.",
    "file-search.erased": "A file that goes leaves no chunk, vector or batch: alone, with its thread, owner or agent, "
    "while its job is at work, and however often a process is killed.",
}
