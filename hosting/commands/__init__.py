"""Commands for a terminal about a running app, or about its log."""
