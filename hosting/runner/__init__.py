"""One agent, run once: the loop, the steps that are recorded, the deltas, and the log that its holder appends to."""
