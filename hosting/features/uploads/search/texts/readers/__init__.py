"""A reader for each kind of file: it gives pieces of text in order, and runs in the confined process alone."""
