"""Threads found by words of their titles and messages."""
