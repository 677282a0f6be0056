"""The verbs that every surface calls: accept, wait, follow, cancel, answer, reset, delete, export, list, watch."""
