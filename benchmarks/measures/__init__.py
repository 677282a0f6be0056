"""One file for each measure: what it does to the host, and which figures come of it."""
