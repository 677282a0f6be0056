"""One agent, run once: its steps, its words, its end, all in the thread's log."""
