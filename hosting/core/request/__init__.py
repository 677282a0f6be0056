"""The parts of a request for a run, checked: its message, its fields, and the form of the answer."""
