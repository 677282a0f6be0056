// Feedback on answers: two thumbs under each, which ask for a comment.

import { checked, paths, read, send } from "./api.js"
import { choice, opened } from "./dialogs.js"
import { announce, el, iconButton } from "./dom.js"

/** Return a function that makes the thumbs for a run of a thread. What the user gave before is read once. */
export function ratings(agent, failed) {
  let given
  return (threadId, runId) => {
    const path = paths.runs(agent, threadId, runId, "/feedback")
    const titles = ["Good answer", "Bad answer"]
    const thumbs = titles.map((title, at) => iconButton("thumb", title, () => rate(title, 1 - at).catch(failed)))
    let mine
    const show = (own) => {
      mine = own
      thumbs.forEach((thumb, at) => (thumb.ariaPressed = Boolean(mine) && mine.score < 0.5 === !!at))
    }
    const rate = async (title, score) => {
      const comment = el("textarea", { id: "comment", maxLength: 4000, value: mine?.comment ?? "" })
      const back = mine && choice("Take back", "DELETE")
      const method = await opened(title, el("label", { for: "comment" }, "Comment (optional)"), comment, el("div", { class: "actions" }, choice("Send", "POST", "primary"), back, choice("Cancel", "")))
      if (!method) return
      const body = method === "POST" ? { score, label: mine?.label, comment: comment.value } : undefined
      const response = await checked(await send(method, path, { body }))
      show(body && (await response.json()))
      announce(body ? "Feedback sent." : "Feedback taken back.")
    }
    given ??= read(paths.thread(agent, threadId, "/feedback")).catch(() => ({ feedback: [] }))
    given.then(({ feedback }) => show(feedback.find((one) => one.own && one.run_id === runId)))
    return thumbs
  }
}
