"""The stores of threads: the log's backends, the archive and the attachments. No store knows what an event means."""
