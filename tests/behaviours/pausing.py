"""What pause and resume by hand, and the progress of a run, promise (docs/guides/pausing.md)."""

BEHAVIOURS = {
    "runs.pause": "A paused run stops at its next step, is held and claimed by no process until it is resumed, and "
    "goes on then from its recorded steps.",
    "runs.pause-waits": "While a run is paused its entity is not called, no time of its or of those behind it runs "
    "out, and whoever waits for it is answered at once.",
    "runs.pause-owners": "Only who may cancel a run may pause or resume it.",
    "runs.pause-survives-kill": "A kill around any record of a pause or its end loses neither, and no step is made "
    "twice.",
    "runs.progress": "The progress that the code of a run reports is read on its streams, with its status and on the "
    "wires that have a place for it; no model gets it, and an ended run has none.",
    "runs.progress-paced": "Reports are written at most once a second, or every hundredth of the time, or with the "
    "next step; the newest counts, and within an attempt the share does not fall.",
    "runs.progress-checked": "A share or a text that is none is refused by a sentence, and so is a report outside of "
    "a run or after its end.",
    "runs.progress-survives-kill": "The newest written progress is read in another process and after a kill, and the "
    "next attempt reports anew.",
}
