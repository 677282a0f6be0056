// Markdown as nodes. A text is cut into blocks, and a block that has not changed keeps its node: an answer that grows
// by a word costs its last block. What is no Markdown of ours stays the text that it is.

import { codeNode } from "./code.js"
import { el } from "./dom.js"

const FENCE = /^ {0,3}(```+|~~~+) *([\w+#.-]*)[^`]*$/
const HEADING = /^ {0,3}(#{1,6}) +(.{0,500}?)(?: {1,9}#{1,9})? {0,9}$/
const RULE = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/
const QUOTE = /^ {0,3}> ?/
const ITEM = /^( *)([-*+]|\d{1,9}[.)]) +(?=\S)/
const TABLE_LINE = /^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/
const DEEPEST = 6

// What may begin something within a line, and what it then is. No span is longer than MOST, so that a text without its
// ends costs its length and not its square.
const MARK = /[`![<*_~\\]|\bhttps?:\/\/|(?<! ) {2,}\n/g
const INLINE = [
  [/(`+)(?!`)(.{1,MOST}?)(?<!`)\1(?!`)/, (found) => el("code", {}, found[2].replace(/^ (.*\S.*) $/s, "$1"))],
  [/!?\[([^\]]{0,MOST})\]\( ?<?([^\s()<>]{0,MOST}(?:\([^\s()<>]{0,MOST}\))?[^\s()<>]{0,MOST})>?(?: +"[^"]{0,MOST}")? ?\)/, link],
  [/<(https?:\/\/[^\s<>]{1,MOST})>/, (found, depth) => link([found[0], found[1], found[1]], depth)],
  [/https?:\/\/[^\s<>"'`]{0,MOST}[^\s<>"'`.,;:!?)\]}*_]/, (found, depth) => link([found[0], found[0], found[0]], depth)],
  [/\*\*\*(?=\S)(.{1,MOST}?)(?<=\S)\*\*\*/, (found, depth) => el("strong", {}, el("em", {}, ...inline(found[1], depth)))],
  [/\*\*(?=\S)(.{1,MOST}?)(?<=\S)\*\*/, (found, depth) => el("strong", {}, ...inline(found[1], depth))],
  [/(?<!\w)__(?=\S)(.{1,MOST}?)(?<=\S)__(?!\w)/, (found, depth) => el("strong", {}, ...inline(found[1], depth))],
  [/~~(?=\S)(.{1,MOST}?)(?<=\S)~~/, (found, depth) => el("s", {}, ...inline(found[1], depth))],
  [/\*(?=[^\s*])(.{1,MOST}?)(?<=[^\s*])\*(?!\*)/, (found, depth) => el("em", {}, ...inline(found[1], depth))],
  [/(?<!\w)_(?=[^\s_])(.{1,MOST}?)(?<=[^\s_])_(?!\w)/, (found, depth) => el("em", {}, ...inline(found[1], depth))],
  [/\\([!-/:-@[-`{-~])/, (found) => found[1]],
  [/ {2,}\n|\\\n/, () => el("br")],
].map(([pattern, make]) => [new RegExp(pattern.source.replaceAll("MOST", "1000"), "sy"), make])

/** Show the text in the element. */
export function show(element, text) {
  const wanted = blocks(text.replaceAll("\r\n", "\n").split("\n"))
  const shown = element.blocks ?? []
  let same = 0
  while (same < shown.length && same < wanted.length && shown[same] === wanted[same]) same++
  while (element.childNodes.length > same) element.lastChild.remove()
  for (const block of wanted.slice(same)) element.append(blockNode(block, 0))
  element.blocks = wanted
}

/** Return the source of each block. A block ends where a line can no longer belong to it. */
function blocks(lines) {
  const found = []
  for (let at = 0; at < lines.length; ) {
    if (!lines[at].trim()) {
      at++
      continue
    }
    const end = endOfBlock(lines, at)
    found.push(lines.slice(at, end).join("\n"))
    at = end
  }
  return found
}

function endOfBlock(lines, at) {
  const fence = FENCE.exec(lines[at])
  let end = at + 1
  if (fence) {
    while (end < lines.length && !isFenceEnd(lines[end], fence[1])) end++
    return Math.min(end + 1, lines.length)
  }
  if (HEADING.test(lines[at]) || RULE.test(lines[at])) return end
  if (ITEM.test(lines[at])) return endOfList(lines, at)
  if (QUOTE.test(lines[at])) {
    while (end < lines.length && QUOTE.test(lines[end])) end++
    return end
  }
  while (end < lines.length && lines[end].trim() && !beginsBlock(lines[end])) end++
  return end
}

const isFenceEnd = (line, fence) => line.trim().startsWith(fence) && !line.trim().replaceAll(fence[0], "")

const beginsBlock = (line) =>
  FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line)

function endOfList(lines, at) {
  const isOrdered = /\d/.test(ITEM.exec(lines[at])[2])
  let end = at + 1
  for (; end < lines.length; end++) {
    const item = ITEM.exec(lines[end])
    const isBlank = !lines[end].trim()
    if (item ? !item[1] && /\d/.test(item[2]) !== isOrdered : !isBlank && !/^ {2,}/.test(lines[end]) && beginsBlock(lines[end]))
      break
    if (!isBlank && !item && !/^ {2,}/.test(lines[end]) && !lines[end - 1].trim()) break
  }
  while (!lines[end - 1].trim()) end--
  return end
}

function blockNode(source, depth) {
  const lines = source.split("\n")
  const fence = FENCE.exec(lines[0])
  if (fence) return codeBlock(lines, fence)
  const heading = HEADING.exec(lines[0])
  if (heading) return el(`h${Math.min(heading[1].length + 2, 6)}`, {}, ...inline(heading[2], depth))
  if (RULE.test(lines[0])) return el("hr")
  if (depth < DEEPEST && QUOTE.test(lines[0])) return quote(lines, depth)
  if (depth < DEEPEST && ITEM.test(lines[0])) return list(lines, depth)
  if (lines.length > 1 && lines[0].includes("|") && TABLE_LINE.test(lines[1])) return table(lines, depth)
  return el("p", {}, ...inline(source, depth))
}

function codeBlock(lines, fence) {
  const isWhole = lines.length > 1 && isFenceEnd(lines.at(-1), fence[1])
  const text = lines.slice(1, isWhole ? -1 : undefined).join("\n")
  return codeNode(text, fence[2], isWhole)
}

function quote(lines, depth) {
  const inner = lines.map((line) => line.replace(QUOTE, ""))
  return el("blockquote", {}, ...blocks(inner).map((block) => blockNode(block, depth + 1)))
}

function list(lines, depth) {
  const marker = ITEM.exec(lines[0])[2]
  const items = []
  let indent = 0
  for (const line of lines) {
    const item = ITEM.exec(line)
    if (item && (!items.length || item[1].length < indent)) {
      indent = item[0].length
      items.push([line.slice(indent)])
    } else items.at(-1).push(line.slice(Math.min(indent, line.length - line.trimStart().length)))
  }
  const made = items.map((item) => {
    const [first, ...rest] = blocks(item)
    const begin = first && !beginsBlock(first) ? inline(first, depth) : first ? [blockNode(first, depth + 1)] : []
    return el("li", {}, ...begin, ...rest.map((block) => blockNode(block, depth + 1)))
  })
  return /\d/.test(marker) ? el("ol", { start: Number.parseInt(marker) }, ...made) : el("ul", {}, ...made)
}

function table([head, rule, ...rows], depth) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"))
  const sides = cells(rule).map((cell) => (/:$/.test(cell) ? (/^:/.test(cell) ? "center" : "end") : null))
  const row = (name, line) =>
    el("tr", {}, ...cells(line).map((cell, at) => el(name, { class: sides[at] }, ...inline(cell, depth))))
  const made = el("table", {}, el("thead", {}, row("th", head)), el("tbody", {}, ...rows.map((line) => row("td", line))))
  return el("div", { class: "table", tabIndex: 0 }, made)
}

/** Return the nodes and texts of what stands in a block. */
function inline(text, depth) {
  const made = []
  let shown = 0
  for (let at = 0; depth <= DEEPEST && at < text.length; ) {
    MARK.lastIndex = at
    const mark = MARK.exec(text)
    if (!mark) break
    at = mark.index
    const [found, make] = spanAt(text, at)
    if (!found) {
      at++
      continue
    }
    made.push(text.slice(shown, at), make(found, depth + 1))
    shown = at += found[0].length
  }
  return [...made, text.slice(shown)].filter((part) => part !== "")
}

function spanAt(text, at) {
  for (const [pattern, make] of INLINE) {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found) return [found, make]
  }
  return []
}

/** A link leads to the web or nowhere. A picture is a link too: the page fetches nothing because a model says so. */
function link([whole, text, target], depth) {
  const url = URL.canParse(target) ? new URL(target) : null
  if (!url || !["http:", "https:"].includes(url.protocol)) return whole
  const shown = text === target ? [text] : inline(text || target, depth)
  return el("a", { href: url.href, target: "_blank", rel: "noopener noreferrer nofollow" }, ...shown)
}
