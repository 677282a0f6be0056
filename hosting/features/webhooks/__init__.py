"""Addresses that are notified of the ends of runs."""
