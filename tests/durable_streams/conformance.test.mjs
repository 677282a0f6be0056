// The protocol's conformance suite against the address in STREAMS_URL.
import { runConformanceTests } from "@durable-streams/server-conformance-tests"

runConformanceTests({ baseUrl: process.env.STREAMS_URL })
