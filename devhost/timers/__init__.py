"""Timer triggers: schedules, what is remembered of them, and the runs."""
