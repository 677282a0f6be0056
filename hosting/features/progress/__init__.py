"""The progress that the code of a run reports, on its way into the thread's log."""
