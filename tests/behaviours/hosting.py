"""What the deployed library promises whoever maintains it or starts it: its cut, its settings, its refusals."""

BEHAVIOURS = {
    "hosting.durable-2": "The app runs on the Durable Functions SDK 2.x as on 1.7: turns, orchestrations, entities.",
    "hosting.earlier-executions": "An execution that 1.7 began goes on under 2.x, or fails with a sentence.",
    "hosting.private-doors": "A private name of a package is used in one file, and a version without it fails by name.",
    "hosting.is-plain": "A hosted agent sends its model, tells its caller and does what it does plain, in each turn, "
    "streamed, waited for and killed, but for a short list of differences with reasons.",
    "hosting.one-name": "A public class or function of hosting/ and state/ has its name alone, or its meaning.",
    "hosting.import-levels": "A module of hosting/ imports only what stands before it in the levels.",
    "hosting.core-alone": "The core imports no feature and no room above it, but for a list that only becomes shorter.",
    "hosting.one-folder": "A feature is one folder: it imports no other feature and no trigger, at most two files "
    "outside name it, and one list has them all.",
    "hosting.imports-what-it-has": "An app imports the modules of the features, stores and packages that it has, and "
    "those of no other.",
    "hosting.feature-page": "A page adds a small feature, step by step, and the app serves, lists, describes, exports "
    "and erases it.",
    "hosting.azure-at-the-edge": "Azure is imported by the triggers and the app alone, agent-framework where agents "
    "and messages are touched.",
    "hosting.devhost-apart": "The local host imports nothing of the product, nor the product of it.",
    "hosting.examples": "The start, the list of agents and the page propose an agent's own example "
    "(`additional_properties`), else a question that every agent can answer.",
    "hosting.hubs": "Two apps whose task hubs have different names share nothing, also on one account, file or server.",
    "hosting.log-outlives-the-instance": "In production, and on Azure anyway, a threads' log that other instances "
    "cannot read is refused at start-up.",
    "hosting.log-of-a-newer-version": "A log that a newer version wrote is refused at start-up and left as it is.",
    "hosting.stores-checked-at-start": "A log, archive or store of attachments that cannot be opened or written "
    "stops the app at start-up, by its path and the cause.",
    "hosting.stores-outages-named": "A store that fails later is a line in the log with its path or address and the "
    "cause, once, without keys.",
    "hosting.waits-that-fit": "A request is answered before common clients and gateways give up, with the ids of a run "
    "that goes on (docs/reference/waits.md).",
    "hosting.taken-routes-refused": "A route of the user's own function that meets one of the library's is refused at "
    "start-up, naming both.",
    "hosting.names-free": "A function of the user's own that has the name of one of the library's is refused at "
    "start-up, and answers as any other where the app does not have that one.",
    "hosting.owners": "No two of issuer and id share an owner.",
    "hosting.easy-auth": "App Service Authentication is believed where the platform says that it is on, and where its "
    "headers are whole; two tenants' users are never the same.",
    "hosting.bearer-tokens": "A token signs somebody in if the issuer signed it for the app and it holds now; a warm "
    "one makes no network call.",
    "hosting.no-agents-warned": "An app without agents starts with a warning.",
    "hosting.misspelt-settings-named": "A setting AGENT_... that is none is named at start-up with the nearest that "
    "is one.",
    "hosting.raising-tool-logged": "A tool that raises leaves its traceback in the log, with its name and the run.",
    "hosting.one-line-a-tool-call": "A tool call has one line in the log at INFO; the framework's own lines come where "
    "its logger has a level, or the host logs DEBUG.",
    "hosting.unreached-model-named": "A model that cannot be reached is one line in the log, with its address.",
    "hosting.session-types": "A type in the session that cannot be stored is refused by its name.",
    "hosting.sync-tools-in-threads": "Synchronous tools run in threads, not on the loop of the agents.",
    "hosting.foreign-text-stays": "Whatever an agent's code raises ends its own run; its text goes to the log and not "
    "to the caller.",
    "hosting.halves-replaced": "Half of a character from a model or a tool is U+FFFD in what is stored and sent, and "
    "the run goes on.",
    "hosting.names-who-blocked": "Code that blocks the agents' loop is named in the log, with its time.",
    "hosting.refuses-while-blocked": "While code blocks the agents' loop for longer than its limit, the log says so, "
    "the process is not ready and new runs are refused; outside production by a sentence that names the line.",
    "hosting.names-with-blanks": "An agent's name may have single blanks: its route and its entity have them, its "
    "function and its MCP tool have '_' instead.",
    "hosting.registers": "Each agent gets an entity and the doors that were asked for.",
    "hosting.refusals-at-start-up": "What cannot be hosted, and what is not served yet, is refused at start-up by a "
    "sentence that says how to mend it.",
    "hosting.settings-refused": "A wrong setting is refused at start-up, naming the setting, the value and what it "
    "must be.",
    "hosting.run-limit-per-agent": "An agent may have a run limit of its own; attempts that the platform's "
    "functionTimeout would cut are refused at start-up (docs/reference/settings.md).",
    "hosting.spans": "Where OpenTelemetry's SDK is set up, each attempt of a run is a span below its caller's "
    "traceparent and above the framework's own; without text.",
    "hosting.metrics": "Where OpenTelemetry's SDK is set up, a process counts the runs that it accepted, works on and "
    "ended, their attempts by cause, their waits, durations and costs, and the calls of the store, and observes how "
    "long the oldest queued run waits; without text.",
    "hosting.late-tools-told": "A synchronous tool that outlives its run is left to end, and the log says so "
    "(docs/guides/observability.md).",
    "hosting.opened-once": "What agents hold open is opened once in a process, on the agents' loop, and closed with it "
    "(docs/guides/observability.md).",
    "hosting.connections-come-back": "A server of an agent's tools that was started again is connected to again, and "
    "what else an agent holds open is opened again once its connection broke. No call is made twice "
    "(docs/guides/tools.md).",
    "hosting.drains": "A process that is asked to end takes no new runs, lets those that run end, and closes what "
    "agents hold open.",
    "hosting.one-line-per-run": "Each run has one line in the log at its end: agent, thread, run, outcome, attempts, "
    "times, tokens.",
    "hosting.logs-carry-the-invocation": "What an agent, its tools, its middleware and its callbacks log carries the "
    "id of the invocation that runs it, which Azure needs to keep it, and never another run's.",
    "hosting.entity-lines": "What an agent logs at INFO while its entity works on a run is printed, each record once, "
    "where host.json keeps only warnings of entities.",
    "hosting.start-up-printed": "Whatever stops an app's start, and each warning of it, is printed as one sentence "
    "with the page to read, because Azure's host drops the exceptions and the records of that time.",
    "hosting.one-store": "Instances of one task hub whose stores differ are found by `health/ready`, and a run that "
    "the log of its entity does not have by a warning; nobody else is refused, and no turn pays for it.",
    "hosting.no-keys-in-logs": "Nothing that a deployed app prints or logs has the query or a header of a request, or "
    "the query of an address that the app asks.",
    "hosting.no-text-in-logs": "No logger of ours says what was asked or answered, at any level.",
    "hosting.moves-over": "An app of agent-framework-azurefunctions becomes one of ours by its import line: the same "
    "constructor calls make the same functions, the same requests get the same answers.",
    "hosting.upstream-options": "Each option and method of the next version of agent-framework-azurefunctions means "
    "what this library has for it, or is named in one line at the start with what to do; a wrong value is refused.",
    "hosting.classic-routes": "The user's own classic HTTP routes go on working beside the agents'.",
}
