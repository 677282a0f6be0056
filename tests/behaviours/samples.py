"""What the samples promise."""

BEHAVIOURS = {
    "samples.pages-run": "Every command on the page of a sample prints what the page shows, on the local host and "
    "without a network.",
    "samples.deploy": "A sample in the place of the template's app is deployed as that is.",
    "samples.copilotkit": "A page with CopilotKit's runtime chats, streams, approves, and asks nothing of "
    "other servers.",
    "samples.use-chat": "A page in React with useChat chats, asks, goes on after a reload, and asks nothing of other "
    "servers.",
    "samples.seventy-two-hours": "A person's answer is waited for 72 hours to the second, also by a process that "
    "began later.",
    "samples.triggers": "The samples with triggers answer each delivery once, on the thread that it names.",
}
