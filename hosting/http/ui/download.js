// A thread as a file: its messages as Markdown, or all that the app keeps of it as JSON.

import { Unreachable, checked, paths, read, send } from "./api.js"
import { choice, opened } from "./dialogs.js"
import { announce, el } from "./dom.js"
import { inFull } from "./times.js"

const PAGE = 200
const CUT_OFF = "The download was cut off. Try again."

/** Ask for the kind of file, and save it. Throws the problem of what cannot be read. */
export async function download(agent, threadId, title) {
  const kinds = [
    ["markdown", "Markdown", "The messages and tool calls, to read or to share."],
    ["json", "JSON", "All data of the thread: also its runs, pictures and files."],
  ]
  const rows = kinds.map(([kind, says, more]) => el("div", { class: "row" }, el("p", { class: "note" }, more), choice(says, kind)))
  const kind = await opened("Download this thread", ...rows, el("div", { class: "actions" }, choice("Cancel", "")))
  if (!kind) return
  const name = `${agent}-${threadId}`.replace(/[^\w.~-]/g, "_")
  if (kind === "json") save(await exported(agent, threadId), `${name}.json`)
  else save(new Blob([await asMarkdown(agent, threadId, title)], { type: "text/markdown" }), `${name}.md`)
}

/** Return the app's export. One that breaks off is no file: it would lack what was not read. */
async function exported(agent, threadId) {
  const response = await checked(await send("GET", paths.thread(agent, threadId, "/export")))
  return response.blob().catch(() => {
    throw Object.assign(new Unreachable(), { message: CUT_OFF })
  })
}

async function asMarkdown(agent, threadId, title) {
  const parts = [`# ${title.replaceAll("\n", " ")}`, `Agent ${agent}, thread ${threadId}`]
  for (let after = 0, isMore = true; isMore; ) {
    const page = await read(paths.thread(agent, threadId, `/messages?${new URLSearchParams({ order: "asc", limit: PAGE, after })}`))
    for (const entry of page.entries) parts.push(...entryParts(entry, agent))
    isMore = page.has_more
    after = page.entries.at(-1)?.position
  }
  return `${parts.join("\n\n")}\n`
}

function entryParts(entry, agent) {
  const contents = (entry.messages ?? []).flatMap((message) => message.contents)
  return [`## ${entry.type === "request" ? "User" : agent}, ${inFull(entry.created_at)}`, ...contents.flatMap(contentParts)]
}

function contentParts(content) {
  const { type, function_call: call, approved } = content.content ?? {}
  if (content.$type === "text") return [content.text]
  if (content.$type === "functionCall") return [`Calls \`${content.name}\`:`, fenced(content.arguments)]
  if (content.$type === "functionResult") return ["Result:", fenced(content.result)]
  if (content.$type === "error") return [`Failed (\`${content.errorCode}\`): ${content.message}`]
  if (type === "function_approval_request") return [`Asks for approval of \`${call?.name}\`.`]
  if (type === "function_approval_response") return [`${approved ? "Approved" : "Refused"} \`${call?.name}\`.`]
  if (content.$type === "data" || content.$type === "uri") return [`File: ${content.name ?? content.mediaType ?? "without a name"}`]
  return []
}

/** Return the value as a block of code: its fence is longer than any in it. */
function fenced(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2)
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([ticks]) => ticks.length))
  const fence = "`".repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}

/** Have the browser save what came, under that name. */
export function save(blob, name) {
  const href = URL.createObjectURL(blob)
  el("a", { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href))
  announce(`Saved as ${name}`)
}
