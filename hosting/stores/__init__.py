"""Where the threads' logs are kept: one contract, and a file for each backend."""
