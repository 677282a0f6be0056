"""What becomes of the thoughts of an agent's model (issue 90)."""

BEHAVIOURS = {
    "reasoning.kept": "Thoughts are stored, given back to the model with what its provider sealed, exported with the "
    "thread and erased with it.",
    "reasoning.dropped": "Thoughts that an agent drops are in no store and in no answer; its model has them back while "
    "its run is at work.",
    "reasoning.shown": "Thoughts are shown to callers where the agent says so, on our stream and on every wire that "
    "has words for them, before what follows them; what a provider sealed is shown to nobody.",
    "reasoning.killed": "A process that dies between a thought and its text shows neither twice: the next attempt "
    "thinks anew, and each reader has its thoughts alone.",
    "reasoning.refused": "Another switch is refused at the start by its value.",
}
