// A model call of a run: what the model was sent and what came back, read when a person opens it.

import { partNodes } from "./agent.js"
import { paths, read } from "./api.js"
import { button, el, plural, valueNode } from "./dom.js"

const ROLES = { user: "User", assistant: "Model", system: "System" }
const KEPT = {
  whole: "",
  changed: "Middleware or a context provider changed these messages or added others, which are not kept.",
  unchecked: "As the run's record has them. What middleware or a context provider added is not kept.",
  partly: "What the workflow gave its executor is not kept.",
}

/** Return the content of a call's row, which is read at once. `steps` are those of its run. */
export function callNode(agent, path, { id }, steps) {
  const load = async () => {
    const call = await read(path)
    const { kept, messages, earlier_url: earlier } = call.sent
    const isFirst = !earlier || Number(new URL(earlier).searchParams.get("before")) <= 1
    const says = [!isFirst && "The conversation above, before this run, came first.", KEPT[kept]].filter(Boolean).join(" ")
    return [
      part("Sent", says ? note(says) : "", ...messageNodes(messages, messages)),
      part("Received", ...(call.received.length ? messageNodes(call.received, messages) : [note("Nothing is kept.")])),
      more("Instructions, tools and options, as the agent is now", async () => nowNodes(await read(paths.agent(agent)), id, steps)),
    ]
  }
  return loaded(el("div", { class: "call" }), load)
}

/** Fill an element with what `load` returns; the reason stands there if it fails, with a button to try again. */
function loaded(element, load) {
  const fill = async () => {
    element.replaceChildren(el("p", { class: "state busy late" }, "Loading"))
    try {
      element.replaceChildren(...(await load()))
    } catch (problem) {
      const again = () => {
        element.closest("details")?.firstChild.focus()
        fill()
      }
      element.replaceChildren(note(problem.message), el("div", {}, button("Try again", again, "small")))
    }
  }
  fill()
  return element
}

/** Return a line that opens to what `load` returns. */
function more(says, load) {
  const body = el("div", { class: "about" })
  const open = ({ target }) => target.open && !body.childElementCount && loaded(body, load)
  return el("details", { class: "more", on: { toggle: open } }, el("summary", {}, says), body)
}

/** Return the nodes of messages; `all` has the calls whose results are among them. */
function messageNodes(messages, all) {
  const names = new Map(all.flatMap(({ contents }) => contents).filter(({ type }) => type === "tool_call").map((call) => [call.call_id, call.name]))
  return messages.flatMap(({ role, contents }) => contents.map((content) => contentNode(content, ROLES[role] ?? "Tool", names)))
}

function contentNode({ type, text = "", characters, name, call_id: id, media_type: media, bytes }, role, names) {
  const shown = {
    text: [role, text],
    reasoning: [`${role}, thinking`, text],
    tool_call: [`${role} calls ${name}`, characters ? text : asValue(text)],
    tool_result: [names.has(id) ? `Result of ${names.get(id)}` : "Result", text],
    data: [role, `${media}, ${plural(bytes ?? 0, "byte")}`],
    uri: [role, text],
  }
  const node = valueNode(...(shown[type] ?? [role, `${name}: not shown`]))
  if (characters) node.append(note(`The first ${text.length.toLocaleString()} of ${plural(characters, "character")}.`))
  return node
}

/** Return arguments as the value that their text is; some are no JSON. */
function asValue(text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function nowNodes(told, id, steps) {
  const described = partOf(told, id, steps)
  return [note("Those of the call are not kept."), ...(described ? partNodes(described, told) : [note("The app does not have this agent now.")])]
}

/** Return the description of the agent that made the call, which may be a tool of another or in a workflow. */
function partOf(told, id, steps) {
  const within = id.slice(0, id.lastIndexOf("/") + 1) // the call or the executor around it, with a slash
  const outer = new Map(steps.filter((step) => step.kind === "tool_call" && within.startsWith(`${step.id}/`)).map((step) => [step.id, step.tool]))
  let found = told.kind === "workflow" ? told.agents.find(({ name }) => within.includes(`/${name}/`)) : told
  for (const tool of outer.values()) found = found?.tools.find(({ name }) => name === tool)?.agent
  return found
}

const note = (says) => el("p", { class: "note" }, says)
const part = (title, ...children) => el("section", {}, el("h3", { role: "heading", "aria-level": "2" }, title), ...children)
