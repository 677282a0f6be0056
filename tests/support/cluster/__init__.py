"""Processes of an app over one store, in this process: they die at any await, and time passes when nobody works."""
