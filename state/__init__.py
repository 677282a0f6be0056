"""The stored conversation: one versioned JSON document per thread. No Azure, no I/O, no clock, no ids of its own."""
