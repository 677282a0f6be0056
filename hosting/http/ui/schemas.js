// JSON Schemas, as a workflow's input and its questions have them: what they lead to, take, and look like.

const DEPTH = 8 // a schema may name itself
const ESCAPES = { "~0": "~", "~1": "/" } // of a name in a reference

/** Whether words are taken as they are: by each agent, and by a workflow that has no type of its own for its input. */
export function takesText({ input_schema: schema }) {
  return !schema || [schema, ...(schema.anyOf ?? [])].some(({ type }) => type === "string")
}

/** Return the schema to which references lead from there, with the words that stand beside them: a title, a default.
 * What leads nowhere takes everything. */
export function resolved(schema, root) {
  let part = schema
  for (let steps = 0; isObject(part); steps++) {
    const { $ref: name, allOf, ...beside } = part
    if (name === undefined && allOf?.length !== 1) return part
    if (steps === DEPTH) break
    const target = name === undefined ? allOf[0] : pointed(root, name)
    part = isObject(target) ? { ...target, ...beside } : target
  }
  return {}
}

function pointed(root, name) {
  let part = root
  for (const step of name.split("/").slice(1)) {
    const key = step.replace(/~[01]/g, (escape) => ESCAPES[escape])
    part = part && Object.hasOwn(part, key) ? part[key] : undefined
  }
  return name.startsWith("#") ? part : undefined
}

/** Return the schemas of which a value fits one, null's left out, and whether null fits too. */
export function alternatives(schema, root, depth = 0) {
  const { anyOf, oneOf, type, ...beside } = schema
  const types = Array.isArray(type) ? type.map((each) => ({ ...beside, type: each })) : [schema]
  const parts = (anyOf ?? oneOf)?.map((part) => resolved(part, root)) ?? types
  const others = parts.filter((part) => part.type !== "null" && part.const !== null)
  if (others.length === 1 && others[0] !== schema && depth < DEPTH) {
    const inner = alternatives(resolved({ ...others[0], ...beside }, root), root, depth + 1)
    return { parts: inner.parts, isNullable: inner.isNullable || others.length < parts.length }
  }
  return { parts: others, isNullable: others.length < parts.length }
}

/** Whether the value has the shape of that schema: its types, names and constants. Other rules are the app's to check. */
export function accepts(schema, value, root, depth = 0) {
  const part = resolved(schema, root)
  if (depth > DEPTH) return true
  if (part.const !== undefined) return isSame(part.const, value)
  if (part.enum) return part.enum.some((each) => isSame(each, value))
  const options = part.anyOf ?? part.oneOf
  if (options) return options.some((each) => accepts(each, value, root, depth + 1))
  if (part.type && ![part.type].flat().some((type) => isOf(type, value))) return false
  if (Array.isArray(value) && part.items) return value.every((item) => accepts(part.items, item, root, depth + 1))
  if (!isObject(value) || !part.properties) return true
  const { properties, required = [] } = part
  if (!required.every((name) => Object.hasOwn(value, name))) return false
  return Object.entries(value).every(([name, member]) => Object.hasOwn(properties, name) && accepts(properties[name], member, root, depth + 1))
}

/** Whether a value is of a type, as JSON Schema names it. */
export function isOf(type, value) {
  if (type === "integer") return Number.isInteger(value)
  if (type === "object") return isObject(value)
  if (type === "array") return Array.isArray(value)
  return type === (value === null ? "null" : typeof value)
}

/** Whether two values are the same JSON. */
export const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other)

/** Whether a value is an object of JSON. */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)

/** Return a value of a schema's shape, as an example. */
export function exampleOf(schema, root = schema, depth = 0) {
  const part = resolved(schema, root)
  const of = (inner) => (depth < DEPTH ? exampleOf(inner, root, depth + 1) : null)
  for (const given of [part.const, part.default, part.enum?.[0], part.examples?.[0]]) {
    if (given !== undefined) return given
  }
  const choice = (part.anyOf ?? part.oneOf)?.find(({ type }) => type !== "null")
  if (choice) return of(choice)
  switch (part.type) {
    case "object":
      return Object.fromEntries((part.required ?? []).map((name) => [name, of(part.properties?.[name] ?? {})]))
    case "array":
      return part.items ? [of(part.items)] : []
    case "integer":
    case "number":
      return part.minimum ?? 1
    case "boolean":
      return true
    case "null":
      return null
    default:
      return "..."
  }
}
