"""The text of a file, read in a process of its own, and the chunks of it."""
