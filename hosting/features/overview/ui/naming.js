// The name of a thread and its pin, which a person gives it.

import { checked, paths, send } from "./api.js"
import { choice, opened } from "./dialogs.js"
import { el } from "./dom.js"

const LONGEST = 80

/** Ask for a thread's name and pin, and change them. Returns the thread as it is then; null if nothing was changed. */
export async function renamed(agent, threadId, { title = "", pinned = false }) {
  const name = el("input", { id: "name", value: title, maxLength: LONGEST, autocomplete: "off" })
  const pin = el("input", { id: "pin", type: "checkbox", checked: pinned })
  const answer = await opened(
    "Rename or pin this thread",
    el("label", { for: "name" }, "Name"),
    name,
    el("p", { class: "note" }, "Without a name it has the beginning of its first message."),
    el("label", { class: "check" }, pin, "Pin it: it stays at the top of the list"),
    el("div", { class: "actions" }, choice("Save", "save", "primary"), choice("Cancel", "")),
  )
  if (answer !== "save") return null
  const body = { ...(name.value !== title && { title: name.value }), pinned: pin.checked }
  return (await checked(await send("POST", paths.thread(agent, threadId, "/describe"), { body }))).json()
}
