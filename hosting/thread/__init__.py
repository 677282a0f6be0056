"""A thread, pure: its events, the head they fold to, and the rules that decide what may be appended."""
