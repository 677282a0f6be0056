"""What a person's approval of a tool call promises."""

BEHAVIOURS = {
    "approvals.asked": "A tool marked as needing approval ends the run, is not called, and stands in the answer.",
    "approvals.said": "The response of a run that waits says so, and for the approval of which tools (approvals.md).",
    "approvals.listed": "A thread lists what it waits for now, and nothing else.",
    "approvals.goes-on": "An approved call is made and the model goes on; that answer is the approval's answer.",
    "approvals.refused": "A refused call is not made, and the model and the conversation are told the person's reason.",
    "approvals.several": "Several approvals are answered one by one, and the run that goes on starts at the last.",
    "approvals.edited": "A call that is approved with other arguments is made with those, if they fit the tool; the "
    "record has both, the model is told, and standing approvals go by them (docs/guides/approvals.md).",
    "approvals.shown-arguments": "A run that goes on after an answer shows each call with the arguments with which it "
    "is made, in its stream, its timeline and over each protocol.",
    "approvals.destructive": "Whoever approves a call of a tool that is declared destructive is told so.",
    "approvals.once": "An approval is answered once; whoever is second is told so.",
    "approvals.blocks": "A thread that waits takes no message; the refused one leaves no trace in the conversation.",
    "approvals.unknown": "An approval that a thread does not have is not found.",
    "approvals.expires": "An approval that nobody answered in time counts as refused, and the thread goes on.",
    "approvals.failed-run": "A run that went on and failed leaves no open call to the next message.",
    "approvals.forgotten": "A reset and a delete take what waits with them.",
    "approvals.kept": "What waits, and what was answered, is read and exported with its thread.",
    "approvals.form": "The answer has the form that the run was asked for, also when a run goes on; text tells what "
    "waits and how to answer.",
    "approvals.visible": "Whoever decides sees what the tool gets: characters that show nothing, or turn the words "
    "beside them, are written out on the page, in texts, over each protocol and in the log (docs/guides/approvals.md).",
    "approvals.mcp": "An MCP client is told what waits and where a person answers; it cannot answer itself.",
    "approvals.orchestrations": "An orchestration gets the framework's requests and brings all answers in one run; of "
    "it and a person over HTTP one decides.",
    "approvals.streamed": "A stream tells each approval before its end; what is answered later is no event of it.",
    "approvals.survives-kill": "A kill around any record of an approval loses neither question nor answer, and the "
    "tool is called once.",
    "approvals.not-waited": "The run that goes on is answered 202 when it is not waited for.",
    "approvals.standing": "A tool that a person approved for good is called without a question, on that thread, as "
    "long as the approval stands; the thread lists what stands, and who gave it when.",
    "approvals.withdrawn": "A standing approval is withdrawn between two runs: the next one asks, and no fork, no "
    "message asked again and no process brings it back.",
    "approvals.standing-owners": "Who may approve on a thread may withdraw there, who may read it sees what stands; no "
    "other owner's thread has anything of it.",
    "approvals.standing-killed": "A run that a kill cut off goes on with the standing approvals that it began with, "
    "and a withdrawal that a kill cut off is repeated.",
    "approvals.checked": "An answer that is none is refused by a sentence and decides nothing.",
}
