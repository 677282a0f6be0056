// A form drawn from a JSON Schema, as pydantic makes them.
//
// Each field reads what was given for as long as nobody changes it: a member that is left out stays so, and a value that
// a control cannot show comes back as it was. What a schema takes and no control draws is a box for JSON, and all of a
// form can be one. The app checks the rules; a form refuses only what it cannot read.

import { button, el, pressed, visible } from "./dom.js"
import { box, drawn } from "./fields.js"

const RULE = /^the rule '(.*)' is broken/

/** A form for one value. `read()` returns it, `refuse(message)` shows what the app says of it. */
export class Form {
  /** `name` is what the value is, as in "Answer"; `submit()` is called for Enter. A form that is `given` a value shows it. */
  constructor(schema, name, submit, given) {
    this.root = schema
    this.name = name
    this.drawn = el("div", { class: "drawn" })
    this.note = el("p", { class: "refusal", role: "alert" })
    this.toggle = button("", () => this._toggle(), "quiet small")
    this.element = el("div", { class: "form", role: "group", "aria-label": name, on: { keydown: (event) => this._pressed(event, submit) } }, this.drawn, this.note, this.toggle)
    this.element.addEventListener("input", () => (this.isTouched = true))
    this.isTouched = false
    this._draw(given)
  }

  /** Return `{ value }`; null if a field cannot be read, which then says so and has the focus. */
  read() {
    this._clear()
    const faults = []
    const value = this.field.read(faults)
    for (const [field, text] of faults) field.says(text)
    faults[0]?.[0].focus()
    return faults.length || value === undefined ? null : { value }
  }

  /** Show why the app refuses the value: each complaint at the field that it names, the others below all. */
  refuse(message) {
    this._clear()
    const fields = [...this.fields].filter((field) => field.isThere()).map((field) => [field, field.path()])
    fields.sort(([, one], [, other]) => other.length - one.length)
    let first = null
    for (const part of message.split("; ")) {
      const [field, text] = meantBy(part, fields) ?? []
      if (!field) this.note.replaceChildren(...visible(message))
      else field.says(text)
      first ??= field
    }
    first?.focus()
  }

  focus() {
    this.field.focus()
  }

  _draw(given) {
    this.fields = new Set()
    this.isText = false
    this.field = drawn(this.root, { form: this, name: this.name, given, isItem: true, isRequired: true, isNew: given === undefined, depth: 0, path: () => [] })
    this._show(!this.field.isBox)
  }

  _show(canToggle) {
    this.drawn.replaceChildren(this.field.element)
    this.toggle.textContent = this.isText ? "Back to the form" : "Write as JSON"
    this.toggle.hidden = !canToggle
    this._clear()
  }

  /** Show all of it as JSON, or again as fields; what cannot be read is left out there. */
  _toggle() {
    if (this.isText) {
      const back = this.read()
      if (!back) return
      this._draw(back.value)
    } else {
      const given = this.field.read([])
      this.fields = new Set()
      this.field = box({}, { form: this, name: this.name, given, isRequired: true, path: () => [] })
      this.isText = true
      this._show(true)
    }
    this.focus()
  }

  _pressed(event, submit) {
    if (!pressed(event, "Enter") || event.shiftKey || !event.target.matches("input, textarea:not(.json)")) return
    event.preventDefault()
    submit()
  }

  _clear() {
    this.note.replaceChildren()
    for (const field of this.fields) field.says("")
  }
}

/** Return the field that a complaint of the app names, and what it says; undefined if it names none.
 *
 * A path is told as "at $.steps[0].text" or "steps.0.text: ", which may name a type between two steps. */
function meantBy(complaint, fields) {
  for (const [field, path] of fields.filter(([, path]) => path.length)) {
    const pointer = `at $${path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("")} `
    const at = complaint.indexOf(pointer)
    if (at >= 0) return [field, complaint.slice(at + pointer.length).replace(RULE, "Breaks the rule “$1”")]
    const steps = path.map((step) => String(step).replace(/\W/g, "\\$&")).join("(?:\\.[^\\s.:]+)*\\.")
    const found = new RegExp(`(?:^|[ .])${steps}: (.*)`, "s").exec(complaint)
    if (found) return [field, found[1]]
  }
}
