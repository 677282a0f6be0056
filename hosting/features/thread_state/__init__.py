"""The state of a thread without a run: the session's state read and written, and messages put in."""
