"""What is promised of evaluations, and of an agent that is called over HTTP as a plain one."""

BEHAVIOURS = {
    "evaluation.remote-agent": "An agent of a running app speaks agent-framework's agent protocol: its response has "
    "the messages, tool calls and usage of the plain agent's, streamed too, and a session is a thread.",
    "evaluation.remote-turns": "A turn of a remote agent may have several messages, answers to the calls that wait, "
    "and a format of the answer, as a plain agent's has; a killed app costs none of them (issue 91).",
    "evaluation.refusals": "A remote agent says of each run without an answer why, in the app's sentence and code.",
    "evaluation.as-plain": "The same cases give the same results on a plain agent and on the hosted one.",
    "evaluation.files": "A file of cases that cannot be used is refused with the place and what to give.",
    "evaluation.command": "The command asks all cases, prints a table, writes a JUnit file, and ends with 1 if a case "
    "does not pass.",
    "evaluation.killed": "A case is run and counted once, whichever process is killed in the middle.",
}
