// Where a message is written: Enter sends it, Shift and Enter begin a new line, pictures and files are dropped or pasted.

import { button, byId, el, icon, iconButton, pressed } from "./dom.js"

const MOST_CONTENTS = 30
const HINT = byId("hint").textContent

/** The form at the foot of the page. `send(contents, busy)` and `stop()` are what its one button does; where a message
 * is written while a run is open, it sends, and a row below says what becomes of the run. */
export class Composer {
  constructor(send, stop) {
    this.form = byId("composer")
    this.text = byId("message")
    this.files = byId("files")
    this.submit = byId("submit")
    this.meanwhile = byId("meanwhile")
    this.busy = byId("busy")
    this.attached = []
    this.send = send
    this.stop = stop
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

  /** Why nothing can be sent now, which stands below the box; "" opens it. */
  set waitsFor(why) {
    if (byId("hint").textContent === (why || HINT)) return
    byId("hint").textContent = why || HINT
    this.form.classList.toggle("waits", Boolean(why))
    for (const field of [this.text, this.submit, byId("attach")]) field.disabled = Boolean(why)
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
    return !this.text.value.trim() && !this.attached.length
  }

  /** Put a text there, for the user to send or to change. */
  write(text) {
    this.text.value = text
    this._fit()
    this.text.focus()
  }

  /** Put a message there with all that it has, to be changed. */
  take(contents) {
    const [first] = contents
    const text = first.$type === "text" ? first.text : ""
    this.attached = contents.slice(text ? 1 : 0).map((content) => ({ name: content.name ?? content.text?.slice(0, 40) ?? "A file", content }))
    this._showFiles()
    this.write(text)
  }

  async _submitted(event) {
    event.preventDefault()
    if (this.stops) return this.stop()
    const text = this.text.value.trim()
    const { attached } = this
    const contents = [...(text ? [{ $type: "text", text }] : []), ...attached.map((file) => file.content)]
    if (!contents.length) return this.text.focus()
    const busy = this.runs ? this.busy.value : undefined
    this._clear()
    if (!(await this.send(contents, busy))) {
      this.attached = attached
      this._showFiles()
      this.write(this.text.value || text)
    }
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
    this.busy.value = "queue"
    this.attached = []
    this._showFiles()
    this._fit()
  }

  _dropped(event, files, isDrop = false) {
    this.form.classList.remove("dropping")
    if (isDrop || files.length) event.preventDefault()
    this._attach([...files])
  }

  async _attach(files) {
    for (const file of files.slice(0, MOST_CONTENTS - this.attached.length))
      this.attached.push({ name: file.name, content: await contentOf(file) })
    this._showFiles()
  }

  _showFiles() {
    const chips = this.attached.map((file) => {
      const remove = () => {
        this.attached = this.attached.filter((other) => other !== file)
        this._showFiles()
        this.text.focus()
      }
      return el("li", {}, file.name, iconButton("close", `Remove ${file.name}`, remove))
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
