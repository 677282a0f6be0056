// What an agent is: its instructions, model, tools, and the settings that hold for its runs.

import { paths, read } from "./api.js"
import { byId, el, icon, plural, valueNode, visible } from "./dom.js"
import { length } from "./times.js"

const BUSY = { queue: "waits for its turn", reject: "is refused", interrupt: "interrupts the run", rollback: "replaces the run", steer: "joins the run" }
const PER = { run: "a run", thread: "a thread", "owner/day": "an owner and day" }
const LIMITS = { requests_per_minute: ["request", "a minute"], tokens_per_minute: ["token", "a minute"], runs_at_once: ["run", "at once in a process"] }
const descriptions = new Map()

/** What the app says of an agent; null where it cannot be read now. */
export function described(name) {
  if (!descriptions.has(name)) descriptions.set(name, read(paths.agent(name)).catch(() => descriptions.delete(name) && null))
  return descriptions.get(name)
}

/** Say beside the title that the built-in model answers, where it does. */
export async function showModel(agent) {
  const shown = byId("model")
  shown.hidden = true
  shown.dataset.agent = agent?.name ?? ""
  if (!agent) return
  const told = await described(agent.name)
  if (shown.dataset.agent === agent.name) shown.hidden = !told || !partsOf(told).some(({ model }) => model?.offline)
}

/** The view of one agent or workflow; `ofThread(agent, threadId)` makes what a feature shows of an agent's thread, or null. */
export class AgentView {
  constructor(agent, threadId, ofThread) {
    this.agent = agent
    this.threadId = threadId
    this.ofThread = ofThread
    this.element = el("div", { class: "view about" }, el("p", { class: "state busy late" }, "Loading"))
  }

  async open() {
    const told = await read(paths.agent(this.agent))
    const parts = partsOf(told)
    const ofThread = this.threadId && told.kind !== "workflow" ? await this.ofThread(this.agent, this.threadId) : null
    this.element.replaceChildren(
      ...(told.kind === "workflow" ? parts.flatMap((part) => [el("h2", {}, visible(part.name)), ...partNodes(part, told)]) : partNodes(told, told)),
      section("Settings of its runs", rows(ruleRows(told.rules))),
      ofThread ?? "",
    )
  }

  leave() {}
}

const partsOf = (told) => told.agents ?? [told]

/** Return the sections of an agent, which may be a part of the description `told`. */
export function partNodes(part, { instructions_hidden: isHidden }) {
  const { model, options, tools, mcp_servers: servers, context_providers: providers, response_format: format } = part
  const facts = [
    model && ["Model", model.offline ? `${model.name}: answers by rules, for development only` : model.name],
    ...Object.entries(options).map(([name, value]) => [el("code", {}, name), asText(value)]),
    ...servers.map((server) => ["MCP server", `${server.name}: ${server.is_connected ? "connected" : "its tools are listed after the first run that needs them"}`]),
    providers.length && ["Context providers", providers.join(", ")],
    ...Object.entries(part.caller_options ?? {}).map(([name, bounds]) => [el("code", {}, name), `callers may set it: ${JSON.stringify(bounds)}`]),
  ]
  return [
    section("Instructions", isHidden ? note("Only administrators read them here.") : part.instructions ? el("pre", { tabIndex: 0 }, visible(part.instructions)) : note("It has none.")),
    section("Model", rows(facts.filter(Boolean))),
    section("Tools", tools.length ? el("ul", { class: "steps" }, tools.map((tool) => el("li", {}, toolNode(tool, isHidden)))) : note("It has none.")),
    format ? section("Format of its answers", valueNode("JSON Schema", JSON.stringify(format, null, 2))) : "",
  ]
}

function toolNode(tool, isHidden) {
  const says = [tool.approval === "always" && "asks for approval", tool.idempotent && "may be called again", tool.destructive && "cannot be taken back", tool.server && `from ${tool.server}`, tool.agent && "an agent", !tool.parameters && "run by the provider"]
  const { agent } = tool
  return el(
    "details",
    { class: "step" },
    el("summary", {}, icon("tool"), el("b", {}, visible(tool.name)), el("span", { class: "outcome" }, visible(says.filter(Boolean).join(", ")))),
    el(
      "div",
      { class: "step-body" },
      tool.description ? el("p", {}, visible(tool.description)) : "",
      tool.parameters ? valueNode("Parameters", JSON.stringify(tool.parameters, null, 2)) : "",
      agent ? valueNode("Instructions", isHidden ? "Only administrators read them here." : (agent.instructions ?? "none")) : "",
      agent?.tools.length ? el("ul", { class: "steps" }, agent.tools.map((inner) => el("li", {}, toolNode(inner, isHidden)))) : "",
    ),
  )
}

function ruleRows({ busy, queue_limit: queue, run_timeout_seconds: timeout, ttl_seconds: ttl, approval_seconds: approval, interrupted_tools: interrupted, retry, budget, limit }) {
  return [
    ["A message during a run", BUSY[busy] ?? busy],
    ["Open runs of a thread", `${queue} at most`],
    ["An attempt takes", `${length(1000 * timeout)} at most`],
    ["A failed run", retry ? `is tried ${plural(retry.attempts, "time")} at most` : "is not tried again"],
    ["A call that a crash cut off", interrupted === "fail" ? "fails its run" : "is reported to the model"],
    ["An approval waits", approval === null ? "for ever" : days(approval)],
    ["A thread is kept", ttl === null ? "for ever" : `${days(ttl)} after its last answer`],
    ["Budget", budget ? `${[budget.tokens && plural(budget.tokens, "token"), budget.cost && `a cost of ${budget.cost}`].filter(Boolean).join(" and ")} for ${PER[budget.per]}` : "none"],
    ["Limit", limit ? Object.entries(limit).map(([name, most]) => `${plural(most, LIMITS[name][0])} ${LIMITS[name][1]}`).join(", ") : "none"],
  ]
}

const days = (seconds) => (seconds >= 172_800 ? plural(Math.round(seconds / 86_400), "day") : length(1000 * seconds))
const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value))
const note = (text) => el("p", { class: "note" }, text)
const section = (title, ...children) => el("section", {}, el("h3", { role: "heading", "aria-level": "2" }, title), ...children)
const rows = (pairs) => el("dl", { class: "receipt" }, pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, visible(String(value)))]))
