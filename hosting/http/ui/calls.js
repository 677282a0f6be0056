// An agent called from other programs: the last request, a run, a stream, and the ways that features add.

import { credentials, lastRequest } from "./api.js"
import { asCurl, asPython } from "./commands.js"
import { choice, copyButton, opened } from "./dialogs.js"
import { el } from "./dom.js"
import { exampleOf, takesText } from "./schemas.js"

const JSON_TYPE = { "Content-Type": "application/json" }
const EVENTS = { Accept: "text/event-stream" }
const ANSWER = { imports: ["json"], body: [`print(json.load(response)["response"])`] }
const DELTAS = {
  imports: ["json"],
  body: [
    "for line in response:",
    `    if line.startswith(b"data: "):`,
    `        print(json.loads(line[6:]).get("text", ""), end="", flush=True)`,
  ],
}
const HINTS = {
  KEY: "KEY is a function key. On your machine with --auth: python dev.py host keys.",
  MCP_KEY: "MCP_KEY is the system key mcp_extension. On your machine with --auth: python dev.py host keys.",
  TOKEN: "TOKEN is the bearer token of a user.",
}
const OPEN = "If this app signs users in, also send the header Authorization with a bearer token."
const OWN_MACHINE = ["localhost", "127.0.0.1", "[::1]"]

/** Return which credentials the app is sent by this page. */
export const given = () => ({ key: Boolean(credentials.key), token: Boolean(credentials.token) })

/** Return an example of a first message: a question, or a value of the type that a workflow takes, as JSON. */
export const firstMessage = (agent) => (takesText(agent) ? agent.example : JSON.stringify(exampleOf(agent.input_schema)))

/** Return an example of a first request, as short as it can be. */
export function firstRequest(agent) {
  const request = { method: "POST", url: agent.run_url, headers: {}, body: agent.example }
  return takesText(agent) ? request : { ...request, headers: JSON_TYPE, body: bodyOf(agent) }
}

/** Show how the agent is called from other programs. Each of `more(agent, given)` returns a way `{ name, curl, python }`
 * of a feature, or one with a `program` of JavaScript in place of `python`; nothing where the agent does not have it. */
export async function showCalls(agent, more) {
  const sent = given()
  const ways = [last, run, streamed, ...more].map((way) => way(agent, sent)).filter(Boolean)
  const shown = el("div", { class: "snippets" })
  const choices = ways.map((way) => {
    const radio = el("input", { type: "radio", name: "way", class: "hidden", on: { change: () => show(way) } })
    return el("label", { class: "button small" }, radio, way.name)
  })
  const show = (way) => {
    const program = way.program ? snippet("JavaScript", way.program) : snippet("Python", way.python)
    shown.replaceChildren(...snippet("curl", way.curl), ...program, ...hintsOf(way))
  }
  choices[0].firstChild.checked = true
  show(ways[0])
  await opened(
    `Call ${agent.name} from your code`,
    el("div", { class: "choices", role: "radiogroup", "aria-label": "What to call it with" }, choices),
    shown,
    el("div", { class: "actions" }, choice("Close", "", "primary")),
  )
}

const snippet = (name, text) => [el("div", { class: "row" }, el("h3", {}, name), copyButton(() => text)), el("pre", { tabIndex: 0, "aria-label": name }, text)]

/** Return sentences about the variables that stand in the way's commands. */
function hintsOf({ curl }) {
  const named = Object.keys(HINTS).filter((name) => curl.includes(`$${name}"`))
  const hints = named.length ? named.map((name) => HINTS[name]) : OWN_MACHINE.includes(location.hostname) ? [] : [OPEN]
  return hints.map((text) => el("p", { class: "note" }, text))
}

const last = (_, sent) => lastRequest && { name: "Your last message or schedule", curl: asCurl(lastRequest, sent), python: asPython(lastRequest, sent) }

function run(agent, sent) {
  const request = { method: "POST", url: agent.run_url, headers: JSON_TYPE, body: bodyOf(agent) }
  return { name: "Run", curl: asCurl(request, sent), python: asPython(request, sent, ANSWER) }
}

/** A workflow may stream no words, so its events are printed as they are. */
function streamed(agent, sent) {
  const request = { method: "POST", url: agent.run_url, headers: { ...JSON_TYPE, ...EVENTS }, body: bodyOf(agent) }
  return { name: "Stream", curl: asCurl(request, sent), python: asPython(request, sent, agent.graph ? undefined : DELTAS) }
}

const bodyOf = (agent) => JSON.stringify(takesText(agent) ? { message: agent.example } : { input: exampleOf(agent.input_schema) })
