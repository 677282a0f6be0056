// What an answer cites: the passage as the model read it, and the file that it stands in.
//
// A file is saved and never shown, because it may be a page with a script. A PDF alone is opened at its page: in a tab
// that gets the type of a PDF whatever the bytes are, and the page's own policy.

import { checked, paths, send } from "./api.js"
import { choice, opened } from "./dialogs.js"
import { save } from "./download.js"
import { button, el, visible } from "./dom.js"

const PDF = "application/pdf"
const KEPT_MS = 60_000

/** Show the passage that a citation of a run names. `results` are what the tools of the run gave: the passage is in one. */
export async function showPassage(agent, threadId, { name, file_id: id, mark, page, heading, start, end }, results) {
  const problem = el("p", { class: "refusal", role: "alert" })
  const place = [
    page && ["Page", page],
    heading && ["Heading", visible(heading)],
    end && ["Place", `characters ${start.toLocaleString()} to ${end.toLocaleString()}`],
  ].filter(Boolean)
  const text = results.map((result) => textIn(result, mark)).find((passage) => passage !== undefined)
  const shown = text === undefined ? el("p", { class: "note" }, "Its words are not in this thread any more.") : el("blockquote", { class: "passage", tabIndex: 0 }, visible(text))

  const saves = button("Download file", () => act(saves, async () => save(await fileOf(agent, threadId, id), name)))
  const opens = page && /\.pdf$/i.test(name) && button(`Open page ${page}`, () => act(opens, () => show(page)))

  async function act(pressed, work) {
    pressed.disabled = true
    problem.textContent = ""
    await work().catch((refusal) => (problem.textContent = refusal.message))
    pressed.disabled = false
  }

  async function show(page) {
    const tab = open("", "_blank") // at once: later the browser would not know that a person asked for it
    try {
      const url = URL.createObjectURL(new Blob([await fileOf(agent, threadId, id)], { type: PDF }))
      setTimeout(() => URL.revokeObjectURL(url), KEPT_MS)
      if (tab) tab.location = `${url}#page=${page}`
      else problem.textContent = "The browser did not open a tab. Allow it, or download the file."
    } catch (refusal) {
      tab?.close()
      throw refusal
    }
  }

  await opened(
    name,
    el("dl", { class: "receipt" }, place.flatMap(([title, value]) => [el("dt", {}, title), el("dd", {}, value)])),
    shown,
    problem,
    el("div", { class: "actions" }, opens, saves, choice("Close", "", "primary")),
  )
}

/** Return the text that a result of the search has for a mark; undefined where it has none, or is another tool's. */
function textIn(result, mark) {
  try {
    return JSON.parse(result).passages.find(({ cite }) => cite === mark)?.text
  } catch {
    return undefined
  }
}

/** Return the bytes of a file of the thread, of the agent, or of the user. */
async function fileOf(agent, threadId, id) {
  const places = [threadId && paths.thread(agent, threadId, "/files"), `${paths.agent(agent)}/files`, "files"].filter(Boolean)
  for (const place of places) {
    const response = await send("GET", `${place}/${encodeURIComponent(id)}/content`)
    if (response.status !== 404) return (await checked(response)).blob()
  }
  throw new Error("The file is not there any more. It was deleted, or it is another user's.")
}
