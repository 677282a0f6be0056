"""Pause and resume by hand: a run stands still until a person has it go on."""
