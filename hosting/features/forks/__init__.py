"""New threads that begin with the entries of another one."""
