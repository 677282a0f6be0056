"""All threads of an owner together, and those of all owners for operators."""
