// An agent's facts about the user in all threads, with time and source; added, edited and forgotten here.

import { paths, read, send } from "./api.js"
import { Cards, nothing, time } from "./cards.js"
import { confirmed } from "./dialogs.js"
import { button, byId, el, pressed, visible } from "./dom.js"
import { hrefOf } from "./threads.js"

/** The facts that one agent remembers, the oldest first. */
export class Memory extends Cards {
  constructor(agent, threadId, failed) {
    super(agent, threadId, failed)
    this.editor = null
    this.adding = new Writing("A fact to remember", "Add", (text) => this._add(text))
    this.gone = button("Forget all", () => this._erase(), "quiet")
    this.gone.hidden = true
    this.element.prepend(el("section", { class: "card" }, this.adding.field, el("div", { class: "actions" }, this.adding.keep)))
    this.element.append(el("p", {}, this.gone))
  }

  async _read() {
    return (await read(paths.memory(this.agent))).facts
  }

  _idOf({ fact_id: id }) {
    return idOf(id)
  }

  _draw() {
    this.gone.hidden = !this.all.length
    super._draw()
  }

  _card(fact) {
    const { fact_id: id, text, at, thread_id: thread } = fact
    if (id === this.editor?.id) return this.editor.element // with what was typed so far
    const from = thread ? ["Learned ", time(at), " in ", el("a", { href: hrefOf(this.agent, thread) }, thread)] : ["Added ", time(at)]
    const actions = el("div", { class: "actions" }, button("Edit", () => this._edit(fact)), button("Forget", () => this._forget(id)))
    return el("section", { class: "card" }, el("p", { class: "fact" }, visible(text)), el("p", { class: "note" }, from), actions)
  }

  async _add(text) {
    const isTaken = await this._changed(() => send("POST", paths.memory(this.agent), { body: { text } }), "Fact saved.")
    if (isTaken) this.adding.field.value = ""
    if (!this.list.contains(document.activeElement)) this.adding.field.focus() // who went on to a card stays there
  }

  _edit({ fact_id: id, text }) {
    const { field, keep } = new Writing("Edit fact", "Save", (wanted) => this._replace(id, wanted))
    const close = () => this._close(id)
    field.value = text
    field.addEventListener("keydown", (event) => pressed(event, "Escape") && close())
    const actions = el("div", { class: "actions" }, keep, button("Cancel", close))
    this.editor = { id, field, element: el("section", { class: "card" }, field, actions) }
    this._draw()
    field.focus()
  }

  async _replace(id, text) {
    const request = () => send("POST", paths.memory(this.agent, id), { body: { text } })
    if (await this._changed(request, "Fact changed.")) this._close(id)
    else this.editor?.field.focus()
  }

  _close(id) {
    this.editor = null
    this._draw()
    byId(idOf(id))?.querySelector("button").focus()
  }

  async _forget(id) {
    if (!(await confirmed("Forget this?", "The fact is erased for good. Messages in threads that mention it stay.", "Forget fact"))) return
    await this._changed(() => send("DELETE", paths.memory(this.agent, id)), "Fact forgotten.")
    const next = this.list.querySelector("button") ?? this.adding.field
    next.focus()
  }

  async _erase() {
    const text = `All facts that ${this.agent} remembers are erased for good. Messages in threads that mention them stay.`
    if (!(await confirmed("Forget all?", text, "Forget everything"))) return
    await this._changed(() => send("DELETE", paths.memory(this.agent)), "All facts forgotten.")
    this.adding.field.focus()
  }

  _nothing() {
    return nothing("No facts yet", `Facts that ${this.agent} learns in a thread appear here. It uses them in every thread.`)
  }
}

/** A box for a fact, and its button; Enter does the same. `kept(text)` gets the text. */
class Writing {
  constructor(label, says, kept) {
    this.field = el("textarea", { rows: 2, "aria-label": label, placeholder: label })
    this.keep = button(says, () => this._send(kept), "primary")
    this.field.addEventListener("keydown", (event) => {
      if (!pressed(event, "Enter") || event.shiftKey) return
      event.preventDefault()
      this._send(kept)
    })
  }

  async _send(kept) {
    const text = this.field.value.trim()
    if (!text) return this.field.focus()
    if (this.isSent) return
    this.isSent = true
    await kept(text)
    this.isSent = false
  }
}

const idOf = (id) => `fact-${id}`
