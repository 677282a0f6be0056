"""What somebody who opens the page in a browser is promised (issue 47)."""

BEHAVIOURS = {
    "page.files": "The page is a fixed table of files behind relative URLs, kept by browsers under names made of their "
    "contents, and deployed with the app.",
    "page.safe": "The page's policy lets no script, style or connection in or out but the app's own, and none of its "
    "files reads text as code.",
    "page.put": "Messages that a person put into a thread stand between its turns as what they are, with who put "
    "them in (issue 91); an open page shows new ones.",
    "page.small": "What a browser loads when the page is opened is at most 91 kB, compressed; views that few open are "
    "loaded when they are opened, and have at most 12 kB together.",
    "page.busy": "A message that is sent while a run goes on waits for its turn, interrupts the run or takes its "
    "place, as the sender chooses; Stop ends the run at work, and not one that waits.",
    "page.steering": "A message that is sent while a run goes on joins it, if its sender chooses that or the agent's "
    "own `busy` says so, which stands as the choice; a reload shows it with the run that took it (issue 87).",
    "page.pausing": "The page says how far a run is, and has one button that pauses and resumes it.",
    "page.where": "The page is there in development, and in production where the app asks for it.",
    "page.verbs": "On the page an agent is asked, stopped, reset and deleted, approvals are answered, problems are "
    "read, and an answer is copied.",
    "page.code": "Code in an answer has its language, a button that copies it as it is, and colours where the language "
    "is a common one; it is text all the same.",
    "page.commands": "What the page shows as a command works as it is, pasted into a shell, and begins a run of its "
    "own; the last message or schedule is one, and no stop, answer, reset or deletion takes its place.",
    "page.calls": "How an agent is called from code stands on the page as curl and Python: a run, a stream, and the "
    "clients of OpenAI, MCP and A2A where the app serves them, with its own address and the variable for the key or "
    "token. Each works as it stands.",
    "page.approvals": "While a thread waits for a person the box below takes no message and says why, until the "
    "answer, wherever it is given, which takes the question away; one press approves or refuses.",
    "page.counts": "What is counted on the page has its noun in singular or plural.",
    "page.forks": "On the page a thread is forked at an answer, and a message is edited, or sent again for another "
    "answer, with all that it has in a fork before it, once however often it is asked for; a fork leads back to its "
    "origin, and what is refused is said.",
    "page.find": "A thread is found on the page by its title and by words of its newest messages; the page says how "
    "far it looks.",
    "page.labels": "A thread is renamed and pinned on the page; without a title it is called a new thread.",
    "page.share": "In an app with owners a thread is shared on the page by a link for one person, until it is taken "
    "back; who has the link finds the thread on the page.",
    "page.live": "A run is shown as it stands after a reload, in every tab, whoever began it, and after its process "
    "was killed; each word once.",
    "page.timeline": "A run's timeline is on the page: attempts, model calls, tools and pauses with their lengths, "
    "and words that a later attempt voided struck through.",
    "page.model-call": "A model call in a run's timeline opens, by keyboard too, to what the model was sent and what "
    "came back, with the agent's instructions, tools and options as they are now; what is open stays so while the run "
    "goes on.",
    "page.times": "Each message and answer has its time, and each call of a tool how long it took or has taken so far.",
    "page.cut-off": "A tool call whose run or process ended while the tool was running is shown as cut off, in the "
    "conversation and in the timeline, also after a reload; a later attempt's call of it is a call of its own.",
    "page.agent": "The header opens what an agent is: instructions, model, tools with their schemas and rules, and the "
    "settings of its runs; it says where the offline model answers.",
    "page.graph": "A workflow's graph is drawn, and is a list too: which executors are at work, done, wait for a "
    "person or failed, while a run goes on and after a reload.",
    "page.answers": "An answer to a workflow's question stands with the question and who gave it, and the run that "
    "goes on has one graph with all that was done before; in each tab, and after a reload.",
    "page.forms": "A workflow's question, and the input of a workflow that takes no text, have a form of their "
    "schema: what it gives back is exactly what is written, or JSON where nothing else fits, and what is refused "
    "stands at its field.",
    "page.input-method": "Enter that confirms a word of an input method sends nothing, in each box and in "
    "each browser.",
    "page.inbox": "What waits for approval on any thread is answered in one place, below the words before it: what was "
    "asked and what the agent said. Who comes second is told what the first one decided.",
    "page.figures": "Latency, tokens and failures are drawn by day for an agent and by run for a thread, and are there "
    "as a table.",
    "page.schedules": "An agent's schedules are made, once also where an answer is lost, and what is refused stands "
    "with its field; they are listed by title with the dates of their next and last run in their time zone, which is "
    "chosen from the browser's list, and paused, resumed and deleted.",
    "page.webhooks": "Who was notified of the end of a run is shown with the tries and the next one, for the run and "
    "its thread, and what was not taken of all; administrators send it again.",
    "page.files-view": "The files of a thread, an agent and the user are added, by dropping too, and listed with how "
    "far the search is with each, what is left of the quota, and why one cannot be searched; they are saved and "
    "deleted, in each tab at once. An answer leads to the passage that it cites.",
    "page.uploads": "A file is seen on its way up. A large one comes in parts: one that was lost comes again, and "
    "after a reload the same file goes on; what is given up or refused leaves nothing.",
    "page.memory": "What an agent remembers is listed with when and where it was learnt, and added, edited and "
    "forgotten; only where the agent has a memory.",
    "page.shortcuts": "Keys lead to what is used most, and are listed; none takes what is typed into a field, and they "
    "can be turned off.",
    "page.downloads": "A thread is saved as Markdown with its messages and calls, or as JSON with all that the app "
    "keeps of it; a download that breaks off saves nothing.",
    "page.budget": "What is left of a budget stands above a conversation, and what it allows before there is one; "
    "where that of a thread is used up, a new thread is offered.",
    "page.operations": "Who administers the app sees what each agent is at and what is stuck, and asks for it again; "
    "nobody else has that view.",
    "page.long": "A conversation of 10,000 entries is shown page by page, and no page is drawn in one go; timelines "
    "are read of the turns in sight alone, and together.",
    "page.keys": "With keys the page asks for one, and keeps it in its tab alone.",
    "page.for-everybody": "The page is for those who listen, press keys, or have a phone: axe-core finds nothing.",
    "page.hostile": "Nothing that is stored or said runs on the page, and no page of another origin does anything "
    "with it.",
    "page.sign-in": "A card shows a sign-in with its link and host, never opens it by itself, and takes the "
    "user's word.",
    "page.standing": "Beside what an agent is, a thread shows what it calls without a question there, who gave that, "
    "and a button that ends it. The card of a call approves later calls too, if its agent takes that.",
    "page.tasks": "The timeline leads from a run to the threads of its background agents' tasks, and from there back.",
    "page.incomplete": "An answer that is no whole one says so under it (issue 80).",
    "page.reasoning": "Thoughts that an agent shows stand folded above its answer, as they come and after a reload "
    "(issue 90).",
}
