// Where a message is written: Enter sends it, Shift and Enter begin a new line, pictures and files are dropped or pasted.

import { button, byId, el, icon, iconButton, lead, pressed } from "./dom.js"
import { Form } from "./forms.js"

const MOST_CONTENTS = 30
const HINT = byId("hint").textContent

/** The form at the foot of the page. `send(contents, busy)` and `stop()` are what its one button does; where a message
 * is written while a run is open, it sends, and a row below says what becomes of the run. `send` returns the problem of a
 * message that was refused. `keep(file)` adds a file to the thread's. A workflow that takes no text has a form for its
 * input. */
export class Composer {
  constructor(send, stop, keep) {
    this.form = byId("composer")
    this.text = byId("message")
    this.files = byId("files")
    this.submit = byId("submit")
    this.meanwhile = byId("meanwhile")
    this.busy = byId("busy")
    this.policy = "queue"
    this.input = byId("input")
    this.shape = null
    this.attached = []
    this.send = send
    this.stop = stop
    this.keep = keep
    this.meanwhile.append(button("Stop", stop, "quiet small"))
    const picker = byId("picker")
    byId("attach").append(icon("attach"))
    byId("attach").addEventListener("click", () => picker.click())
    picker.addEventListener("change", () => this._attach([...picker.files]).then(() => (picker.value = "")))
    this.form.addEventListener("submit", (event) => this._submitted(event))
    this.text.addEventListener("keydown", (event) => this._pressed(event))
    this.text.addEventListener("input", () => this._fit())
    this.text.addEventListener("paste", (event) => this._dropped(event, event.clipboardData.files))
    for (const name of ["dragenter", "dragover"])
      document.addEventListener(name, (event) => {
        event.preventDefault()
        this.form.classList.add("dropping")
      })
    document.addEventListener("dragleave", () => this.form.classList.remove("dropping"))
    document.addEventListener("drop", (event) => this._dropped(event, event.dataTransfer.files, true))
    this.isRunning = false
  }

  /** Have a form for values of that schema in place of the text; null for the text. */
  fit(schema) {
    const isSame = JSON.stringify(schema) === JSON.stringify(this.schema)
    this.schema = schema
    for (const part of [this.text, byId("attach")]) part.hidden = Boolean(schema)
    this.input.hidden = !schema
    if (!isSame) this._shape()
    if (schema) this.attached = []
    this._showFiles()
  }

  /** Offer what the agent does with a message during a run, unless the user has chosen already. A refusal is no offer. */
  prefer(policy) {
    const offered = policy === "reject" ? "queue" : policy
    if (this.busy.value === this.policy) this.busy.value = offered
    this.policy = offered
  }

  /** Whether a file may be kept in place of being sent. */
  set keeps(is) {
    this.canKeep = is
    this._showFiles()
  }

  _shape(given) {
    this.shape = this.schema ? new Form(this.schema, "Input", () => this.form.requestSubmit(), given) : null
    this.shape?.element.addEventListener("input", () => this._offer())
    this.input.replaceChildren(this.shape?.element ?? "")
  }

  /** Whether the form says itself what that problem is. */
  shows(problem) {
    return Boolean(this.shape) && problem.code === "invalid_input"
  }

  /** Have the focus where a message is written, unless the user has gone elsewhere. */
  focus(options) {
    lead(this.shape ? this.input.querySelector("input, textarea, select, button") : this.text, options)
  }

  /** Why nothing can be sent now, which stands below the box; "" opens it. */
  set waitsFor(why) {
    if (byId("hint").textContent === (why || HINT)) return
    byId("hint").textContent = why || HINT
    this.form.classList.toggle("waits", Boolean(why))
    for (const field of [this.text, this.submit, byId("attach")]) field.disabled = Boolean(why)
    this.input.inert = Boolean(why)
  }

  /** Whether nothing can be sent now. */
  get waits() {
    return this.text.disabled
  }

  /** Whether a run is open: the button then stops it, as long as nothing is written. */
  set isRunning(is) {
    if (this.runs === is) return
    this.runs = is
    this._offer()
  }

  _offer() {
    const is = this.runs && this.isEmpty
    this.meanwhile.hidden = !this.runs || is
    if (this.stops === is) return
    this.stops = is
    const says = is ? "Stop" : "Send"
    this.submit.replaceChildren(icon(is ? "stop" : "send"))
    this.submit.title = says
    this.submit.setAttribute("aria-label", says)
    this.submit.classList.toggle("stop", is)
  }

  /** Whether nothing was written or attached that is not sent yet. */
  get isEmpty() {
    return this.shape ? !this.shape.isTouched : !this.text.value.trim() && !this.attached.length
  }

  /** Put a text there, for the user to send or to change. */
  write(text) {
    this.text.value = text
    this._fit()
    this.text.focus()
  }

  /** Put a message there with all that it has, to be changed. */
  take(contents) {
    if (this.shape) return this._takeValue(contents[0].text)
    const [first] = contents
    const text = first.$type === "text" ? first.text : ""
    this.attached = contents.slice(text ? 1 : 0).map((content) => ({ name: content.name ?? content.text?.slice(0, 40) ?? "A file", content }))
    this._showFiles()
    this.write(text)
  }

  _takeValue(text) {
    this._shape(JSON.parse(text))
    this.shape.isTouched = true
    this._offer()
    this.shape.focus()
  }

  async _submitted(event) {
    event.preventDefault()
    if (this.stops) return this.stop()
    if (this.shape) return this._submitValue()
    const text = this.text.value.trim()
    const { attached } = this
    const contents = [...(text ? [{ $type: "text", text }] : []), ...attached.map((file) => file.content)]
    if (!contents.length) return this.text.focus()
    const busy = this.runs ? this.busy.value : undefined
    this._clear()
    if (await this.send(contents, busy)) {
      this.attached = attached
      this._showFiles()
      this.write(this.text.value || text)
    }
  }

  /** Send the value as JSON, as a workflow takes it for a message. What is refused stands in the form again. */
  async _submitValue() {
    const written = this.shape.read()
    if (!written) return
    const text = JSON.stringify(written.value)
    const { schema, busy: { value: busy } } = this
    this._clear()
    this._shape()
    this._offer()
    const problem = await this.send([{ $type: "text", text }], this.runs ? busy : undefined)
    if (!problem || schema !== this.schema) return
    this._takeValue(text)
    if (this.shows(problem)) this.shape.refuse(problem.message)
  }

  _pressed(event) {
    if (!pressed(event, "Enter") || event.shiftKey) return
    event.preventDefault()
    if (!this.stops) this.form.requestSubmit()
  }

  _fit() {
    this.text.style.height = "auto"
    this.text.style.height = `${this.text.scrollHeight}px`
    this._offer()
  }

  _clear() {
    this.text.value = ""
    this.busy.value = this.policy
    this.attached = []
    this._showFiles()
    this._fit()
  }

  _dropped(event, files, isDrop = false) {
    this.form.classList.remove("dropping")
    if (isDrop || files.length) event.preventDefault()
    if (!this.form.hidden) this._attach([...files])
  }

  async _attach(files) {
    if (this.shape) return
    for (const file of files.slice(0, MOST_CONTENTS - this.attached.length))
      this.attached.push({ name: file.name, content: await contentOf(file), file })
    this._showFiles()
  }

  _showFiles() {
    const chips = this.attached.map((file) => {
      const remove = () => {
        this.attached = this.attached.filter((other) => other !== file)
        this._showFiles()
        this.text.focus()
      }
      const keep = () => {
        remove()
        this.keep(file.file)
      }
      const kept = this.canKeep && file.file && button("Keep", keep, "quiet small")
      if (kept) kept.title = "Add it to the thread's files, which the agent searches. It is not sent"
      return el("li", {}, file.name, kept, iconButton("close", `Remove ${file.name}`, remove))
    })
    this.files.replaceChildren(...chips)
    this.files.hidden = !chips.length
    this._offer()
  }
}

/** Return the file as a content: one of text in its words, which every model takes, any other as its bytes. */
async function contentOf(file) {
  if (/^text\/|json$/.test(file.type)) return { $type: "text", text: `${file.name}:\n\n${await file.text()}` }
  return { $type: "data", uri: await asDataUri(file), name: file.name }
}

function asDataUri(file) {
  return new Promise((done, fail) => {
    const reader = new FileReader()
    reader.onload = () => done(reader.result)
    reader.onerror = () => fail(reader.error)
    reader.readAsDataURL(file)
  })
}
