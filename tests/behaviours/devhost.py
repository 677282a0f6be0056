"""What the local host promises, apart from its durable engine."""

BEHAVIOURS = {
    "devhost.load-failures-explained": "An app that cannot be loaded is explained with the file, the line and what to "
    "do.",
    "devhost.signs-in": "With --principal the local host signs requests in as the platform's authentication does, and "
    "nobody can send its headers; without it headers pass as they are.",
    "devhost.settings-with-comments": "host.json and local.settings.json may have lines that are comments.",
    "devhost.settings-refused-by-name": "A wrong value in host.json, local.settings.json or an app setting is refused "
    "by its name, the value and what is accepted.",
    "devhost.process-variables-win": "A non-empty variable of the process wins over local.settings.json.",
    "devhost.signatures-checked": "A function whose signature the worker would refuse is refused at indexing, with its "
    "place.",
    "devhost.same-names-refused": "Two functions whose names, durable names or tool names meet without case are "
    "refused, naming both.",
    "devhost.unrun-functions-named": "A function that this host does not run is named at start-up with the reason.",
    "devhost.order-by-upper-cased-name": "Functions are ordered by upper-cased name, and the first whose route matches "
    "answers.",
    "devhost.routes-as-recorded": "Route templates and constraints match what the real host matched (recorded).",
    "devhost.paths-as-recorded": "Paths are resolved and decoded as the real host does (recorded).",
    "devhost.unmatched-is-404": "What no route takes, a wrong verb included, is an empty 404.",
    "devhost.trailing-slash": "A slash at the end of a path matches the route without it; a catch-all keeps it.",
    "devhost.classic-request-as-recorded": "A classic function sees the request as the worker builds it.",
    "devhost.classic-returns-as-recorded": "What a classic function returns is answered as the real host answers it.",
    "devhost.streaming-request-as-recorded": "A function on the FastAPI extension's types sees its request with "
    "forwarding headers and decoded path values (recordings, streaming).",
    "devhost.streaming-returns-as-recorded": "What such a function returns or raises is answered as the worker's own "
    "server answers it (recordings, README).",
    "devhost.streams": "Streams pass chunk by chunk, end when their generator fails, and are cancelled when the client "
    "leaves (recordings, streaming).",
    "devhost.failures-hidden-from-callers": "The text of a failure goes to the log and never to the caller.",
    "devhost.function-timeout": "A function past functionTimeout is answered as failed.",
    "devhost.body-limit": "A body over 100 MB, declared or chunked, is an empty 413, which its client can read, and is "
    "not kept.",
    "devhost.hostile-requests": "Nesting without end, bytes that are no text and clients that leave end their own "
    "request, without a traceback.",
    "devhost.admin-endpoints": "Home page, status, ping and the function list answer the tools; others say that they "
    "are not there.",
    "devhost.pages": "The home page links what can be looked at: the page and the OpenAPI document of the app, its "
    "functions, the durable state. Each route of the document is tried there, with its parameters, body and key. "
    "All of it comes from the host itself.",
    "devhost.mcp-initialize": "MCP initialize negotiates the version, presents the server, and hands out a session "
    "that needs no memory.",
    "devhost.mcp-tools": "MCP tools are listed and called as the extension does.",
    "devhost.mcp-refusals": "A call that cannot be served is a JSON-RPC error with the recorded code and text.",
    "devhost.mcp-results": "A tool's answer becomes a text block or, with a result schema, what its envelope "
    "describes; failures hide their text.",
    "devhost.mcp-transport": "Verbs, media types and bodies are taken or refused with the recorded status.",
    "devhost.mcp-official-client": "The official MCP client works against the host.",
    "devhost.dns-rebinding": "On loopback, every route refuses requests that name another host, come from another "
    "site's page, or write from a page of another origin.",
    "devhost.guard-grammar": "A host, an origin or a site that is none by its grammar, or comes twice, is another "
    "site's.",
    "devhost.start-prints": "Start prints the address, each function with its route, the MCP URL and the first request "
    "to try.",
    "devhost.start-introduces": "An app may say what its start shows, what is listed with --verbose only and what to "
    "ask first.",
    "devhost.functions-list": "`functions` lists each function with its path, and no address: any host may serve it.",
    "devhost.port-in-use": "A port in use is one clear sentence and exit code 2.",
    "devhost.drains": "The first signal lets running work end, the second stops at once.",
    "devhost.forwarded-logs": "Of what the app logs, the local host shows what Azure would get; the rest, warnings "
    "of the start among it, with --verbose and a mark.",
    "devhost.log-levels": "host.json's levels hold by category, as on Azure: what a function logs below its level is "
    "not shown, but with --verbose.",
    "devhost.durable-seam": "The engine calls durable functions by name with texts, through the SDK's converters, and "
    "failures carry the worker's own words.",
    "devhost.durable-functions": "Orchestrations, activities, entities and durable clients of an unmodified app run, "
    "and survive the death of the process.",
    "devhost.own-files": "What the host writes in .devhost/ is closed to other users of the machine, also what was "
    "open before.",
    "devhost.groups": "An app runs in several processes by groups of its functions, named by --group or "
    "FUNCTIONS_TARGET_GROUP; the durable one may be absent or killed while the others take requests (local-host.md, "
    "groups).",
    "devhost.removed-folder": "A host whose .devhost is removed or replaced takes nothing any more, says so and stops.",
    "devhost.one-host-per-folder": "A second process on the same folder is refused by one sentence and harms nothing.",
    "devhost.reset": "Reset deletes the durable state.",
    "devhost.request-heads": "Heads of 8 KB in their line and of 20 KB in a header are taken; one that names no host "
    "is 400 (recorded).",
    "devhost.failed-bodies": "A body of less than 240 bytes a second, or that ends before its length, is an empty 500.",
    "devhost.head-limits": "A line over 8 KiB is 414, headers over 32 KiB in all are 431, and nothing of a head stays "
    "behind its request (recorded).",
    "devhost.refused-and-next": "The request behind a refused one is answered on the same connection, however many are "
    "refused.",
    "devhost.idle-connections": "Thousands of idle connections do not hold up a request.",
    "devhost.queue-trigger": "A message of a storage queue is given to its function as the real host gives it: hidden "
    "for ten minutes and again while it is worked on, tried again, moved to the poison queue (recordings, triggers).",
    "devhost.queue-kill": "A message in work when its host is killed comes again, after its ten minutes, not before.",
    "devhost.storage-outputs": "Queues and blobs that a function sets are written once it has returned, as the real "
    "host writes them; blob inputs have what it gives (recordings, triggers).",
    "devhost.blob-trigger": "A blob that is new by its ETag is given to its function once, whichever host of the "
    "folder saw it; one that fails is given up as the real host does (recordings, triggers).",
    "devhost.storage-away": "Where a storage does not answer, or is not named, the start says in one line which "
    "functions do not listen and what to do, and serves the rest; they listen once it answers.",
    "devhost.send": "A message that is sent by hand to a function of Service Bus, Event Grid, Event Hubs or Cosmos DB "
    "has its binding's shape; the start says which functions listen to nothing, and what cannot be is refused.",
    "devhost.timers": "A timer function runs each time its schedule is due, one run at a time, whatever the last one "
    "ended with.",
    "devhost.timer-schedules": "Schedules are NCRONTAB expressions or intervals; what is none is refused by its part.",
    "devhost.timer-monitor": "A moment that fell into a stop is made up for once, unless useMonitor is off, the timer "
    "is due more than once a minute, or its schedule changed.",
    "devhost.settings-in-bindings": "%NAME% in a binding becomes the app setting; a name that no setting has is "
    "refused.",
    "devhost.keys": "With --auth, functions, the host's pages and webhooks ask for the keys that open them.",
    "devhost.keys-not-logged": "A key in an address is *** in every line of the host's own; the app's lines and "
    "tracebacks are shown as Azure keeps them.",
    "devhost.access-lines": "Each request of a function on the FastAPI extension's types is printed with its query, as "
    "the worker's own server does (recorded), unless the app prevents it.",
    "devhost.keys-command": "`keys` prints the keys, which are made once.",
    "devhost.run-by-hand": "POST /admin/functions/{name} runs a timer now.",
    "devhost.watch": "With --watch an edit starts the app again and loses no durable work; an app that cannot be "
    "imported is explained and started again at the next edit; who kills it kills the app. A file of data that a tool "
    "writes is no edit.",
    "devhost.loud-functions": "A function that writes 100 MB of log holds up nobody and ends.",
    "devhost.exiting-functions": "A function that ends the program ends its own call only.",
    "devhost.isolated-functions": "Whatever a function raises, a cancellation or an exit included, fails its own call; "
    "a cancelled host goes on once the function has unwound.",
    "devhost.read-only-folder": "A folder that cannot be written is refused by one sentence.",
    "devhost.worker-library": "Microsoft's worker library agrees on the index of an app and on what its functions' "
    "calls return.",
    "devhost.inspect": "The durable engine is shown as text by a route and a command, also beside a running host.",
    "devhost.cors": "Pages of the origins that local.settings.json names may call; preflights are answered 204, "
    "and other sites' pages are refused.",
    "devhost.recordings": "What the real host was recorded to answer comes out the same, or stands with its reason on "
    "the list in docs/contributing/recorded-exchanges.md.",
    "devhost.documented": "Every command and option of the local host stands in docs/reference/commands.md.",
}
