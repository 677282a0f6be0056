"""Runs that begin at a time, once or again and again."""
