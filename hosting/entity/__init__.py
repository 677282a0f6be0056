"""A thread: the one writer of its conversation, what it keeps, moves and forgets."""
