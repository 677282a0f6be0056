"""The steps of a run: recorded as they end, given again to a later attempt, streamed as they come."""
