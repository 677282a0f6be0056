"""The index of files' chunks: by the vectors of their meaning and by their words."""
