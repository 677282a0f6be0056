// A block of code: its language, a button that copies it, and colours.
//
// No parser: one pass cuts the text into comments, strings, numbers and words, and a word that its language has as a
// keyword gets that colour. Each character is read once, so a text costs its length. Another language stays plain.

import { copyButton } from "./dialogs.js"
import { el } from "./dom.js"

const MOST_CHARACTERS = 20_000

const STARS = /\/\*[^]*?(?:\*\/|(?![^]))/
const SLASHES = /\/\/.*/
const HASH = /(?<!\S)#.*/
const DASHES = /--.*/
const DOUBLE = /"(?:\\.|[^"\\\n])*"?/
const SINGLE = /(?<!\w)'(?:\\.|[^'\\\n])*'?/
const LETTER = /'(?:\\.|[^'\\\n])'/
const BACK = /`(?:\\[^]|[^`\\])*`?/
const TRIPLE = /(?<quotes>"""|''')[^]*?(?:\k<quotes>|(?![^]))/
const NEVER = /(?!)/

const C = "break case catch class const continue default do else enum false finally for if import interface new null private protected public return static struct super switch this throw true try void while"
const JS = `${C} as async await delete export extends from function implements in instanceof let of readonly type typeof undefined var yield`
const MORE_C = `${C} abstract auto bool byte char defer double final float fn func go impl int let long match mod mut namespace nil override package pub range self short string trait type unsigned use using val var virtual where`
const PYTHON = "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield"
const SHELL = "case do done elif else esac export fi for function if in local return then until while"
const SQL = "all alter and as asc between by case create cross default delete desc distinct drop else end exists false from full group having in index inner insert into is join key left like limit not null offset on or order outer primary references returning right select set table then true union unique update values view when where with"

// The names of each language, then its comments, keys, strings and keywords.
const LANGUAGES = [
  ["js javascript jsx mjs ts tsx typescript", [STARS, SLASHES], NEVER, [DOUBLE, SINGLE, BACK], JS],
  ["c c++ cpp cs csharp go h java kotlin kt php rs rust scala swift", [STARS, SLASHES], NEVER, [DOUBLE, LETTER, BACK], MORE_C],
  ["py python python3", [HASH], /@[\w.]+/, [TRIPLE, DOUBLE, SINGLE], PYTHON],
  ["bash sh shell zsh", [HASH], /\$\{?\w+\}?/, [DOUBLE, SINGLE], SHELL],
  ["sql", [STARS, DASHES], NEVER, [SINGLE, DOUBLE], SQL],
  ["json jsonc", [STARS, SLASHES], /"(?:\\.|[^"\\\n])*"(?=\s*:)/, [DOUBLE], "false null true"],
  ["ini toml yaml yml", [HASH], /^[ \t]*(?:- )?[\w.-]+(?=\s*[:=])|^\[.*/, [TRIPLE, DOUBLE, SINGLE], "false null true"],
  ["css", [STARS], /[\w-]{1,40}(?=:)|@\w+/, [DOUBLE, SINGLE], ""],
  ["html svg xml", [/<!--[^]*?(?:-->|(?![^]))/], /<[!?/]?[\w:-]+|\/?>/, [DOUBLE], ""],
].flatMap(([names, ...rest]) => names.split(" ").map((name) => [name, rest]))
const languages = new Map(LANGUAGES)

const either = (patterns) => patterns.map((pattern) => pattern.source).join("|")

/** Return the nodes and texts of a code. */
function coloured(text, name) {
  const language = languages.get(name.toLowerCase())
  if (!language || text.length > MOST_CHARACTERS) return [text]
  const [comments, keys, strings, words] = language
  const pattern = `(?<comment>${either(comments)})|(?<keyword>${keys.source})|(?<string>${either(strings)})|(?<number>\\b\\d\\w*(?:\\.\\d\\w*)?)|[\\p{L}_][\\p{L}\\p{N}_]*`
  const keywords = new Set(words.split(" "))
  const made = []
  let shown = 0
  for (const { 0: part, index, groups } of text.matchAll(new RegExp(pattern, "gmu"))) {
    const word = words === SQL ? part.toLowerCase() : part
    const kind = keywords.has(word) ? "keyword" : ["comment", "keyword", "string", "number"].find((one) => groups[one])
    if (!kind) continue
    made.push(text.slice(shown, index), el("span", { class: kind }, part))
    shown = index + part.length
  }
  return [...made, text.slice(shown)]
}

/** Return the node of a block of code. One that is still written stays plain: it is drawn anew with each word. */
export function codeNode(text, language, isWhole) {
  const head = el("div", { class: "row" }, el("span", { class: "note" }, language), copyButton(() => text, "Copy code", "quiet small"))
  return el("div", { class: "code" }, head, el("pre", { tabIndex: 0 }, el("code", {}, ...(isWhole ? coloured(text, language) : [text]))))
}

/** Return what a screen reader says of a block: its text, without the head of a code. */
export function spoken(block) {
  const copy = block.cloneNode(true)
  for (const head of copy.querySelectorAll(".code > .row")) head.remove()
  return copy.textContent
}
