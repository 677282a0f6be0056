"""Owners: threads of their own, shared and assigned, and all their data exported and erased."""
