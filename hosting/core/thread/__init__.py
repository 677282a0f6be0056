"""A thread without I/O: its events, the head that they fold to, and the rules for appends."""
