// The inputs of a workflow, by their JSON Schema.

const DEPTH = 8 // a schema may name itself

/** Whether words are taken as they are: by each agent, and by a workflow that has no type of its own for its input. */
export function takesText({ input_schema: schema }) {
  return !schema || [schema, ...(schema.anyOf ?? [])].some(({ type }) => type === "string")
}

/** Return a value of a schema's shape, as an example. */
export function exampleOf(schema, names = schema.$defs ?? {}, depth = 0) {
  const of = (part) => (depth < DEPTH ? exampleOf(part, names, depth + 1) : null)
  if (schema.$ref) return of(names[schema.$ref.split("/").pop()] ?? {})
  for (const given of [schema.const, schema.default, schema.enum?.[0], schema.examples?.[0]]) {
    if (given !== undefined) return given
  }
  const choice = (schema.anyOf ?? schema.oneOf)?.find(({ type }) => type !== "null")
  if (choice) return of(choice)
  switch (schema.type) {
    case "object":
      return Object.fromEntries((schema.required ?? []).map((name) => [name, of(schema.properties?.[name] ?? {})]))
    case "array":
      return schema.items ? [of(schema.items)] : []
    case "integer":
    case "number":
      return schema.minimum ?? 1
    case "boolean":
      return true
    case "null":
      return null
    default:
      return "..."
  }
}
