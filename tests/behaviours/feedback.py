"""What is promised of feedback (docs/guides/feedback.md)."""

BEHAVIOURS = {
    "feedback.once": "Each person has one feedback on a run: the same again changes nothing, another one replaces it, "
    "and it can be taken back; two people at once keep one each, whichever process each of them asks.",
    "feedback.ended": "Feedback is on a run that has ended and counts: a reset or a replacement of the run drops it.",
    "feedback.seen": "The owner of a thread sees all feedback on it and its authors, a reader by a grant their own.",
    "feedback.figures": "Feedback counts on the day on which it was given first, with its score and its label.",
    "feedback.told": "The agent's webhook is told once of each change, without the comment, whatever dies.",
    "feedback.traced": "Feedback is an event of the run's trace; a comment is in it only where contents are recorded.",
    "feedback.erased": "Feedback goes with its thread and with its author, and a fork has none.",
    "feedback.page": "On the page a person rates an answer and says why, by keyboard too.",
    "feedback.refused": "A score, label or comment outside its bounds is refused by its name.",
}
