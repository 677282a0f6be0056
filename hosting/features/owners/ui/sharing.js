// Sharing of a thread: whom its owner lets read it or write to it, each with the link to send them.

import { checked, paths, read, send } from "./api.js"
import { choice, copyButton, opened } from "./dialogs.js"
import { button, el, visible } from "./dom.js"
import { hrefOfShared } from "./threads.js"

const ACCESS = { read: "can read", run: "can read and send messages" }

/** Show whom a thread is shared with, and let its owner share it or stop. Returns when the dialog is closed. */
export async function showSharing(agent, threadId) {
  const { issuer: own } = await read("owners/me")
  const list = el("ul", { class: "grants", tabIndex: -1 })
  const problem = el("p", { class: "refusal", role: "alert" })
  const person = el("input", { id: "person", autocomplete: "off", spellcheck: false })
  const issuer = el("input", { id: "issuer", value: own, autocomplete: "off", spellcheck: false })
  const access = el("select", { id: "access" }, ...Object.entries(ACCESS).map(([value, says]) => el("option", { value }, says)))
  const place = (rest = "") => paths.thread(agent, threadId, `/grants${rest}`)

  /** Do something with the grants, and show them again; say what was refused. */
  async function change(work) {
    problem.textContent = ""
    try {
      await work()
      const { grants } = await read(place())
      list.replaceChildren(...(grants.length ? grants.map(row) : [el("li", { class: "note" }, "Nobody yet.")]))
    } catch (refusal) {
      problem.textContent = refusal.message
    }
  }

  function row(grant) {
    const link = new URL(hrefOfShared(grant.grant), document.baseURI).href
    const withdraw = async () => {
      await change(async () => checked(await send("DELETE", place(`/${encodeURIComponent(grant.grant)}`))))
      list.focus()
    }
    const says = el("span", { class: "name", title: grant.issuer }, visible(grant.id), el("span", { class: "note" }, ` ${ACCESS[grant.access]}`))
    return el("li", { class: "row" }, says, copyButton(() => link, "Copy link", "small"), button("Stop sharing", withdraw, "small quiet"))
  }

  const share = async (event) => {
    event.preventDefault() // the dialog stays
    await change(async () => {
      const body = { issuer: issuer.value.trim(), id: person.value.trim(), access: access.value }
      await checked(await send("POST", place(), { body }))
      person.value = ""
    })
    person.focus()
  }
  await change(async () => {})
  await opened(
    "Share this thread",
    el("p", { class: "note" }, "The link works for that person alone, after they sign in. Others learn nothing from it."),
    list,
    el("label", { for: "person" }, "Person"),
    person,
    el("p", { class: "note" }, "Their id at the sign-in, as it stands in their token."),
    el("label", { for: "access" }, "Access"),
    access,
    el("details", {}, el("summary", {}, "They sign in elsewhere"), el("label", { for: "issuer" }, "Issuer of the sign-in"), issuer),
    problem,
    el("div", { class: "actions" }, el("button", { class: "button primary", on: { click: share } }, "Share"), choice("Close", "")),
  )
}
