"""What is promised of the files of agent-framework's providers."""

BEHAVIOURS = {
    "files.with-the-thread": "The files of a provider that keeps them for each session are the thread's: every process "
    "has them, no other owner does, and nothing of them is on the disk (docs/guides/memory.md).",
    "files.through-a-kill": "A file is there exactly if its tool call was recorded, whichever process dies, and the "
    "todos beside it (docs/guides/memory.md).",
    "files.exported": "Files are exported, reset and erased with their thread, and shared ones exported and "
    "erased with their owner (docs/guides/memory.md).",
    "files.forked": "A fork has the files as they were where it ends (docs/guides/memory.md).",
    "files.swept": "A content that no file and no recorded step has is removed.",
    "files.bounded": "A file too many or too large is refused by a sentence that the model reads "
    "(docs/guides/memory.md).",
    "files.of-owners": "The files of a provider that shares them between threads are one owner's, in every thread and "
    "process; each call changes them once, and files that were deployed are read and never written "
    "(docs/guides/memory.md).",
    "files.of-workflows": "The files of agents of a workflow are part of its state, and shared ones their owner's "
    "(docs/guides/memory.md).",
    "files.own-stores": "Files in a store of the author's own stay there (docs/guides/memory.md).",
}
"""The rules of docs/guides/memory.md."""
