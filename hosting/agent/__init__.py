"""One agent, run once: its loop, its threads, its messages and what it answers."""
