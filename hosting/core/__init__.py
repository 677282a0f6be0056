"""One durable thread and its runs: no HTTP, no Azure, and no feature is known here."""
