"""Files that people upload: an owner's, an agent's, and those of a thread."""
