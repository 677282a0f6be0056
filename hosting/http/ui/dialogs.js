// Dialogs in front of the page: the key, a question before a thread is emptied or deleted, its receipt.

import { checked, credentials, paths, read, send } from "./api.js"
import { announce, button, el, plural, visible } from "./dom.js"
import { inFull } from "./times.js"

const COPIED_MS = 2500
const POLL_MS = 500

/** Show a dialog, and return how it was closed: the value of the button, "" for Escape. */
export function opened(title, ...children) {
  const heading = el("h2", { id: "dialog-title" }, visible(title))
  const dialog = el("dialog", { "aria-labelledby": "dialog-title" }, el("form", { method: "dialog" }, heading, ...children))
  document.body.append(dialog)
  dialog.showModal()
  return new Promise((done) => {
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close(""))
    dialog.addEventListener("close", () => {
      dialog.remove()
      done(dialog.returnValue)
    })
  })
}

/** Return a button that closes a dialog with a value. */
export const choice = (says, value, kind = "") => el("button", { class: `button ${kind}`, value }, says)

/** Ask for the app's credentials; `why` is the app's message. Returns whether any were given. */
export async function askForKey(why) {
  const field = (id, label, value, hint) => {
    const input = el("input", { id, type: "password", value, autocomplete: "off", spellcheck: false })
    return [input, el("label", { for: id }, label), input, el("p", { class: "note" }, hint)]
  }
  const [key, ...keyField] = field("key", "Function key", credentials.key, "Sent as x-functions-key. On your machine with --auth: python dev.py host keys.")
  const [token, ...tokenField] = field("token", "Bearer token", credentials.token, "For an app where users sign in. Otherwise leave it empty.")
  const signIn = el("a", { href: new URL("/.auth/login/aad", location.href).href }, "Sign in with Microsoft Entra ID")
  const answer = await opened(
    "Open this app",
    why ? el("p", { class: credentials.key || credentials.token ? "refusal" : null, role: "alert" }, why) : null,
    ...keyField,
    ...tokenField,
    why ? el("p", { class: "note" }, "With App Service Authentication: ", signIn, ".") : null,
    el("p", { class: "note" }, "This tab keeps both until you close it."),
    el("div", { class: "actions" }, choice("Save", "use", "primary"), choice("Cancel", "")),
  )
  if (answer !== "use") return false
  credentials.set({ key: key.value.trim(), token: token.value.trim() })
  return true
}

/** Ask before something is gone. Returns whether it may go. */
export async function confirmed(title, text, says) {
  const keep = choice("Cancel", "")
  keep.autofocus = true // a key that is pressed too early deletes nothing
  const actions = el("div", { class: "actions" }, choice(says, "yes", "danger"), keep)
  return (await opened(title, el("p", {}, visible(text)), actions)) === "yes"
}

/** Show the receipt of a deletion. */
export async function showReceipt(receipt) {
  const { document: stored, runs, archived_entries: archived, attachments, instances } = receipt
  const rows = [
    ["Deleted at", inFull(receipt.deleted_at)],
    ["Conversation", plural(stored.size_bytes, "byte")],
    ["SHA-256", el("code", {}, stored.sha256)],
    ["Runs", runs],
    ["Archived entries", archived],
    ["Pictures and files", attachments.length],
    ...instances.map(({ id, outcome }) => [`Instance ${outcome}`, el("code", {}, id)]),
  ]
  await opened(
    "Thread deleted",
    el("p", {}, "The receipt has counts and hashes, and no text of the conversation."),
    el("dl", { class: "receipt" }, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("div", { class: "actions" }, copyButton(() => JSON.stringify(receipt, null, 2), "Copy as JSON"), choice("Close", "", "primary")),
  )
}

/** Return a button that copies the result of `text()`. */
export function copyButton(text, says = "Copy", kind = "") {
  const made = button(
    says,
    async () => {
      const copied = await navigator.clipboard?.writeText(text()).then(() => true, () => false) // https and this machine only
      made.textContent = copied ? "Copied" : "Select the text and copy it"
      announce(made.textContent)
      setTimeout(() => (made.textContent = says), COPIED_MS)
    },
    kind,
  )
  return made
}

/** Reset a thread, and return whether the person agreed. */
export async function emptied(agent, threadId) {
  const text = "The agent forgets its messages. Its runs stay in the list of runs."
  if (!(await confirmed("Reset this thread?", text, "Reset thread"))) return false
  await checked(await send("POST", paths.thread(agent, threadId, "/reset")))
  return true
}

/** Delete a thread, and return its receipt: null if there was nothing to delete, undefined if the person did not agree.
 *
 * `begins()` is called before. */
export async function deleted(agent, threadId, begins) {
  const text = "The conversation, its runs and its files are erased from every store of the app. You cannot undo this."
  if (!(await confirmed("Delete this thread?", text, "Delete thread"))) return undefined
  begins()
  await checked(await send("DELETE", paths.thread(agent, threadId)))
  return receiptOf(agent, threadId)
}

/** Return the receipt once the deletion is done; null where there was nothing to delete. */
async function receiptOf(agent, threadId) {
  for (;;) {
    try {
      return await read(paths.thread(agent, threadId, "/erasure"))
    } catch (problem) {
      if (problem.status === 404) return null
      if (problem.status !== 409) throw problem
      await new Promise((wait) => setTimeout(wait, POLL_MS))
    }
  }
}
