"""Where the engine keeps what must survive: one contract, SQLite and memory."""
