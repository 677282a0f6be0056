"""What a caller over HTTP is promised (http-runs.md)."""

BEHAVIOURS = {
    "http.answers-200": "A run that is waited for is answered with its text, its ids, its count and its usage.",
    "http.answers-202": "A run that is not waited for, or outlives the wait, is answered 202 with the place where its "
    "outcome will be.",
    "http.remembers-the-thread": "Requests that name one thread are one conversation.",
    "http.peer-requests": "The requests of clients of other hosts are answered as they expect.",
    "http.failed-run": "A failed run is a problem in our words with its ids, is shown by its status route, and is left "
    "out of what the model sees.",
    "http.reads-threads": "A thread tells its times, its size, its messages' number and its use.",
    "http.pages-messages": "A conversation is read page by page, by entries, from either end.",
    "http.reads-what-ended": "A run that has ended is read although its entity has not committed.",
    "http.exports-threads": "An export holds everything that is kept about a thread.",
    "http.lists-runs": "A thread's runs are listed with their status, times and use.",
    "http.model-call": "A model call of a run opens to what the model was sent in the run and to its answer; what is "
    "not kept, or was changed on the way, is said (What a model call was sent).",
    "http.timeline": "A run's timeline has each attempt, model call and tool with its time and its length, the tokens "
    "of each call, and the words that a later attempt voided (The timeline of a run).",
    "http.lists-threads": "An agent's threads are listed page by page, in the store's order.",
    "http.lists-end": "A list ends where its cursor is empty, fails where it leads to the same page again, and is "
    "given up once its caller has left.",
    "http.lists-agents": "The agents are listed with their endpoints.",
    "http.describes-agents": "An agent or a workflow is described with its instructions, model, tools and rules, and "
    "no secret of its author; where callers sign in, its instructions are for administrators unless the app says "
    "otherwise.",
    "http.unknown-routes": "What is asked below `agents` and `workflows` and is no route of the app is refused in a "
    "sentence, which says what the app lacks: a memory, webhooks, schedules or workflows.",
    "http.steering": "A message that joined a run ends as `joined` with the id of that run; who waits gets its answer, "
    "over HTTP and every other door (issue 87).",
    "http.busy": "A request says by `busy`, in its query or its body, what becomes of it while the thread is busy, or "
    "its agent does, at every door; a rejected one is 409 with the address of the run in the way (issue 51).",
    "http.budget": "A run that has used up its budget, or its thread's, makes no model call more: it ends as 402 with "
    "what is used and left, and keeps what it said (issue 51).",
    "http.parts-of-usage": "The usage of a run says how much of its input came from a model's cache and how "
    "much of its output is reasoning, on every wire; both count once in budgets and costs (issue 90).",
    "http.budget-code": "An agent that an executor's own code calls spends its workflow's budget; code that asks a "
    "model unseen is named at the start (docs/guides/budgets.md).",
    "http.budget-cut-short": "What was received of a streamed answer that did not come whole counts for budgets and "
    "limits, and says how much of it is an estimate (docs/guides/budgets.md).",
    "http.budget-retried": "What the model used in an attempt that is tried again counts for the run and its thread, "
    "also where that attempt has no step of it (issue 51).",
    "http.owner-budget": "All threads of an owner share what the agent may use in a day, over all processes: no call "
    "begins after the one that used it up, and the 402 says when it renews (issue 51).",
    "http.budget-left": "Who looks before a budget is used up reads what is left of it: of a run's with the run, while "
    "it works too, of a thread's with the thread, and of an owner's day anywhere in the app (issue 51).",
    "http.budget-answered": "An answer to a request that begins a run says what is left of the budget that applies; "
    "none costs a call of the store for it but that of an owner's day (issue 51).",
    "http.request-limit": "A caller's requests beyond an agent's limit in a minute, over all processes, are refused "
    "before anything is stored: 429 with when to come again; one that has begun a run never is (issue 51).",
    "http.token-limit": "A caller whose runs have used an agent's tokens of a minute, over all processes, is refused "
    "until some are left: 429 with when; what a run has begun is not cut short (issue 51).",
    "http.run-limit": "A request that would begin more runs at once than an agent may have in a process is refused; "
    "one for a thread at work waits there (issue 51).",
    "http.limit-standing": "Every door's answer to a request that a limit counted says how the limits stand, by "
    "headers; no other answer does (issue 51).",
    "http.limit-wires": "A limit counts what comes by any door, and each refuses in its own form (issue 51).",
    "http.unpriced": "What a model without a price used counts in tokens; it is not called where its name is known, "
    "and only once in a process where its answer shows it (issue 51).",
    "http.cost": "Model calls are priced by the app's own table, exactly; a run or a thread that has cost its budget "
    "makes no call more, and runs, threads and figures say what they cost (issue 51).",
    "http.cancels-runs": "Cancelling is answered 202 and idempotent; a queued run never starts, a running one stops, "
    "neighbours are untouched.",
    "http.resets-threads": "A reset is answered 204 once its signal is taken; every run that begins behind it begins "
    "with an empty conversation.",
    "http.deletes-threads": "A deleted thread leaves nothing behind; deleting twice is 204.",
    "http.readiness": "Readiness says whether runs are taken and the log can be used, from what already happened.",
    "http.no-store": "No answer is kept by anybody on the way.",
    "http.retry-after": "A refusal that may not stand for long says when to ask again, as long as its store asks to be "
    "left alone.",
    "http.unknown-places": "What is not there is 404, what cannot be asked for 400, by a problem.",
    "http.full-disk": "On a full disk a turn is answered within 20 s, the process is not ready, and what was promised "
    "is done when there is room (Readiness).",
    "http.local-cause": "On the local host a failed run's answer has its cause, and a failed tool call in the stream "
    "and the timeline; on Azure never (http-runs.md, tools.md).",
    "http.negotiates": "The answer is JSON or text as Accept prefers, else as the request was.",
    "http.json-without-its-type": "A JSON object with a request's fields and without a JSON content type is refused, "
    "and the header is named.",
    "http.names-the-thread": "Every answer that knows its thread names it in headers, a problem in its members too.",
    "http.thread-id-spellings": "A thread is named by any of its names in body, query or header; blank is absent.",
    "http.location-is-the-callers": "Links are absolute, from what the forwarded headers say the caller used.",
    "http.bad-requests-store-nothing": "A bad request is answered by a clear 4xx and leaves neither a run nor a "
    "conversation behind.",
    "http.problem-forms": "A refusal is problem+json with code and error, or its sentence for text clients.",
    "http.wrong-verb": "Another verb than POST on a run route is 405 with Allow.",
    "http.unknown-runs": "A run is found under its own agent and thread only; else 404.",
    "http.idempotent": "The same request under the same Idempotency-Key is the same run, with its answer, however "
    "often and however concurrently it is sent.",
    "http.idempotent-after-crash": "A request that is sent again after a crash between any two steps of its turn is "
    "the same run, once.",
    "http.idempotency-key-reused": "Another request under a used Idempotency-Key is 409 and disturbs nothing.",
    "http.value": "A run with a response_format is answered with the JSON value of its answer, however often it is "
    "told; a run without one has none.",
    "http.format-reaches-the-model": "The model is told the wanted format in OpenAI's form, whichever form was sent.",
    "http.format-refused": "A model server that refuses json_schema is asked once more with the schema in the "
    "instructions; its answer is checked, and none that it gave is asked for twice.",
    "http.format-is-recorded": "A format is part of what makes requests the same and is kept in the conversation, the "
    "value with the answer.",
    "http.invalid-output": "An answer that does not fit its response_format is a failed run that names the place and "
    "the rule and quotes nothing.",
    "http.schemas-by-steps": "Whether a caller's schema is taken hangs on the schema alone, not on how busy the machine"
    " is.",
    "http.patterns-take-linear-time": "A pattern in a caller's schema cannot hold the process.",
    "http.contents": "Contents are one message with the text before them, reach the model in their order and are kept.",
    "http.contents-limits": "A picture or file is taken up to AGENT_MAX_DATA_BYTES.",
    "http.references-are-not-fetched": "No address in a request makes this app connect to it.",
    "http.model-inputs": "What the model of an agent does not take is refused before the run, as the agent, its client "
    "or the setting declare it.",
    "http.carried-answers-are-text": "A call's answer is JSON text inside JSON, of which the SDK makes no objects.",
    "http.carried-fields": "A request that an orchestration or another package carries in its call of the entity has "
    "the same fields; what is not served is refused.",
    "http.no-header-injection": "Nothing that a caller sent becomes a header of its own in an answer.",
    "http.slow-bodies": "Callers whose bodies do not come hold up nobody, and nothing of theirs is stored.",
    "http.many-threads": "A thousand threads that are created at once are all answered, kept and listed.",
    "http.one-alphabet": "Ids have one alphabet at every door: body, query, header, path, MCP and the calls of "
    "entities.",
    "http.bounded-parsing": "A body within the limit is read or refused in a moment, whatever it is made of.",
    "http.concurrent-runs-kept": "Runs sent at once to one thread are all kept, none twice, one after another.",
    "http.other-sites": "A write that a browser sends for another site's page without asking the host first is refused "
    "(issue 47).",
    "http.incomplete": "An answer that its model did not end says so with the reason, in each form and list (issue "
    "80).",
    "http.broken-off": "An answer whose stream ends without its provider's last word says so (issue 80).",
    "http.cut-calls": "A tool call that was cut in its arguments is not made without them (issue 80).",
    "http.both-spellings": "The answers of a run and all refusals have the members that upstream's clients read, in "
    "camel case beside ours; streams and lists are no larger for it.",
}
