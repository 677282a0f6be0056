"""The search in files: their text, its chunks, their vectors, and the tool that finds them."""
