"""The metadata of a thread, read and changed on its own."""
