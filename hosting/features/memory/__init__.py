"""Facts that agents remember about their callers."""
