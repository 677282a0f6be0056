"""What is promised of uploaded files."""

BEHAVIOURS = {
    "uploads.whole": "A file is read as it was sent, whole or in a range (docs/guides/uploads.md).",
    "uploads.saved": "No file is a page or a script in a browser: it is saved under its name (docs/guides/uploads.md).",
    "uploads.names": "A name that is a path, or cannot be seen, is refused (docs/guides/uploads.md).",
    "uploads.scopes": "An owner's files are the owner's alone, an agent's are read by everybody and written by "
    "administrators, and a thread's go with it (docs/guides/uploads.md).",
    "uploads.once": "A content is stored once for an owner, until the last file that has it is deleted "
    "(docs/guides/uploads.md).",
    "uploads.quota": "An owner's files, and uploads that are open, stay within the quota (docs/guides/uploads.md).",
    "uploads.parts": "A file may come in parts, in any order and again after a failure, and is completed once "
    "(docs/guides/uploads.md).",
    "uploads.carried": "A fork has the files that were there, and an assigned thread takes its files to its owner, "
    "whichever process dies (docs/guides/uploads.md).",
    "uploads.exported": "An export of a thread or an owner has the bytes of their files (docs/guides/uploads.md).",
    "uploads.fetched": "The app fetches a file from an address whose host it allows, and never from inside its network "
    "otherwise (docs/guides/uploads.md).",
    "uploads.in-pieces": "No process holds a file whole (docs/guides/uploads.md).",
    "uploads.through-a-kill": "Whichever process dies, a file is there whole or not at all, and nothing of it is left "
    "otherwise (docs/guides/uploads.md).",
    "uploads.two-processes": "Processes that meet over the same files lose no content and leave none.",
    "uploads.openai": "OpenAI's client keeps its files and uploads in the app, and a message may name one "
    "(docs/guides/uploads.md).",
}
"""The rules of docs/guides/uploads.md."""
