"""What the local host promises, apart from its durable engine."""

BEHAVIOURS = {
    "devhost.load-failures-explained": "An app that cannot be loaded is explained with the file, the line and what to "
    "do (local-host.md, Load).",
    "devhost.signs-in": "With --principal the local host signs requests in as the platform's authentication does, and "
    "nobody can send its headers; without it headers pass as they are.",
    "devhost.settings-with-comments": "host.json and local.settings.json may have lines that are comments.",
    "devhost.settings-refused-by-name": "A wrong value in host.json, local.settings.json or an app setting is refused "
    "by its name, the value and what is accepted (style.md, Types).",
    "devhost.process-variables-win": "A non-empty variable of the process wins over local.settings.json (host contract "
    "2.6).",
    "devhost.signatures-checked": "A function whose signature the worker would refuse is refused at indexing, with its "
    "place (host contract 1.4).",
    "devhost.same-names-refused": "Two functions whose names, durable names or tool names meet without case are "
    "refused, naming both (host contract 1.2).",
    "devhost.unrun-functions-named": "A function that this host does not run is named at start-up with the reason "
    "(local-host.md, Triggers).",
    "devhost.order-by-upper-cased-name": "Functions are ordered by upper-cased name, and the first whose route matches "
    "answers (host contract 2.1).",
    "devhost.routes-as-recorded": "Route templates and constraints match what the real host matched (host contract "
    "2.1, recorded).",
    "devhost.paths-as-recorded": "Paths are resolved and decoded as the real host does (host contract 2.1, recorded).",
    "devhost.unmatched-is-404": "What no route takes, a wrong verb included, is an empty 404 (host contract 2.1).",
    "devhost.classic-request-as-recorded": "A classic function sees the request as the worker builds it (host contract "
    "1.6).",
    "devhost.classic-returns-as-recorded": "What a classic function returns is answered as the real host answers it "
    "(host contract 2.3).",
    "devhost.streaming-request-as-recorded": "A function on the FastAPI extension's types sees its request with "
    "forwarding headers and decoded path values (recordings, streaming).",
    "devhost.streaming-returns-as-recorded": "What such a function returns or raises is answered as the worker's own "
    "server answers it (recordings, README).",
    "devhost.streams": "Streams pass chunk by chunk, end when their generator fails, and are cancelled when the client "
    "leaves (recordings, streaming).",
    "devhost.failures-hidden-from-callers": "The text of a failure goes to the log and never to the caller (host "
    "contract 2.3).",
    "devhost.function-timeout": "A function past functionTimeout is answered as failed (host contract 6.1).",
    "devhost.body-limit": "A body over 100 MB, declared or chunked, is an empty 413, which its client can read, and is "
    "not kept (local-host.md, Limits).",
    "devhost.hostile-requests": "Nesting without end, bytes that are no text and clients that leave end their own "
    "request, without a traceback (local-host.md, Limits).",
    "devhost.admin-endpoints": "Home page, status, ping and the function list answer the tools; others say that they "
    "are not there (host contract 2.5).",
    "devhost.pages": "The home page links what can be looked at: the page and the OpenAPI document of the app, its "
    "functions, the durable state; all of it comes from the host itself.",
    "devhost.mcp-initialize": "MCP initialize negotiates the version, presents the server, and hands out a session "
    "that needs no memory (host contract 5.3).",
    "devhost.mcp-tools": "MCP tools are listed and called as the extension does (host contract 5.4, 5.5).",
    "devhost.mcp-refusals": "A call that cannot be served is a JSON-RPC error with the recorded code and text (host "
    "contract 5.5).",
    "devhost.mcp-results": "A tool's answer becomes a text block or, with a result schema, what its envelope "
    "describes; failures hide their text (host contract 5.5).",
    "devhost.mcp-transport": "Verbs, media types and bodies are taken or refused with the recorded status (host "
    "contract 5.3).",
    "devhost.mcp-official-client": "The official MCP client works against the host (local-host.md, MCP).",
    "devhost.dns-rebinding": "On loopback, every route refuses requests that name another host, come from another "
    "site's page, or write from a page of another origin (local-host.md, Who may call).",
    "devhost.guard-grammar": "A host, an origin or a site that is none by its grammar, or comes twice, is another "
    "site's (local-host.md, Who may call).",
    "devhost.start-prints": "Start prints the address, each function with its route, the MCP URL and the first request "
    "to try (local-host.md, Commands).",
    "devhost.start-introduces": "An app may say what its start shows, what is listed with --verbose only and what to "
    "ask first (local-host.md, Commands).",
    "devhost.functions-list": "`functions` lists each function with its path, and no address: any host may serve it "
    "(local-host.md, Commands).",
    "devhost.port-in-use": "A port in use is one clear sentence and exit code 2 (local-host.md, Storage).",
    "devhost.drains": "The first signal lets running work end, the second stops at once (local-host.md, Commands).",
    "devhost.forwarded-logs": "Of what the app logs, the local host shows what Azure would get; the rest with "
    "--verbose and a mark, and warnings of the start always (host contract 1.7).",
    "devhost.durable-seam": "The engine calls durable functions by name with texts, through the SDK's converters, and "
    "failures carry the worker's own words (host contract 1.5, 1.7).",
    "devhost.durable-functions": "Orchestrations, activities, entities and durable clients of an unmodified app run, "
    "and survive the death of the process (local-host.md, Durable engine).",
    "devhost.own-files": "What the host writes in .devhost/ is closed to other users of the machine, also what was "
    "open before (local-host.md, Who may call).",
    "devhost.groups": "An app runs in several processes by groups of its functions, named by --group or "
    "FUNCTIONS_TARGET_GROUP; the durable one may be absent or killed while the others take requests (local-host.md, "
    "groups).",
    "devhost.removed-folder": "A host whose .devhost is removed or replaced takes nothing any more, says so and stops "
    "(local-host.md, Limits).",
    "devhost.one-host-per-folder": "A second process on the same folder is refused by one sentence and harms nothing "
    "(local-host.md, Storage).",
    "devhost.reset": "Reset deletes the durable state (local-host.md, Commands).",
    "devhost.request-heads": "Heads of 8 KB in their line and of 20 KB in a header are taken; one that names no host "
    "is 400 (host contract 2.4, recorded).",
    "devhost.head-limits": "A line over 8 KiB is 414, headers over 32 KiB in all are 431, and nothing of a head stays "
    "behind its request (host contract 2.4, recorded).",
    "devhost.refused-and-next": "The request behind a refused one is answered on the same connection, however many are "
    "refused (local-host.md, HTTP).",
    "devhost.idle-connections": "Thousands of idle connections do not hold up a request (local-host.md, HTTP).",
    "devhost.timers": "A timer function runs each time its schedule is due, one run at a time, whatever the last one "
    "ended with (local-host.md, Triggers).",
    "devhost.timer-schedules": "Schedules are NCRONTAB expressions or intervals; what is none is refused by its part "
    "(local-host.md, Triggers).",
    "devhost.timer-monitor": "A moment that fell into a stop is made up for once, unless useMonitor is off, the timer "
    "is due more than once a minute, or its schedule changed (local-host.md, Triggers).",
    "devhost.settings-in-bindings": "%NAME% in a binding becomes the app setting; a name that no setting has is "
    "refused (local-host.md, Triggers).",
    "devhost.keys": "With --auth, functions, the host's pages and webhooks ask for the keys that open them (host "
    "contract 2.2).",
    "devhost.keys-not-logged": "A key in an address is *** in every line of the log (local-host.md, Who may call).",
    "devhost.keys-command": "`keys` prints the keys, which are made once (local-host.md, Commands).",
    "devhost.run-by-hand": "POST /admin/functions/{name} runs a timer now (host contract 2.5).",
    "devhost.watch": "With --watch an edit starts the app again and loses no durable work; an app that cannot be "
    "imported is explained and started again at the next edit; who kills it kills the app (local-host.md, Commands).",
    "devhost.loud-functions": "A function that writes 100 MB of log holds up nobody and ends (local-host.md, HTTP).",
    "devhost.exiting-functions": "A function that ends the program ends its own call only (local-host.md, HTTP).",
    "devhost.isolated-functions": "Whatever a function raises, a cancellation or an exit included, fails its own call; "
    "a cancelled host goes on once the function has unwound (host contract 1.7).",
    "devhost.read-only-folder": "A folder that cannot be written is refused by one sentence (local-host.md, Storage).",
    "devhost.worker-library": "Microsoft's worker library agrees on the index of an app and on what its functions' "
    "calls return (local-host.md, How it is proved).",
    "devhost.inspect": "The durable engine is shown as text by a route and a command, also beside a running host "
    "(local-host.md, Durable engine).",
    "devhost.cors": "Pages of the origins that local.settings.json names may call; preflights are answered 204, "
    "and other sites' pages are refused (host contract 2.6).",
    "devhost.recordings": "What the real host was recorded to answer comes out the same, or stands with its reason on "
    "the list in docs/local-host.md (local-host.md, How it is proved).",
    "devhost.documented": "Every command and option of the local host stands in docs/local-host.md (style.md, "
    "Documentation).",
}
