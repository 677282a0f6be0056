"""The verbs that every surface calls, over the threads' log."""
