// The rest of a budget, in a few words.

/** Return the rest of a budget, or the limit of each run or thread if it is of no single one. */
export function leftOf({ per, tokens, left_tokens: leftTokens, cost, left_cost: leftCost }) {
  const amounts = [
    [tokens?.toLocaleString(), leftTokens?.toLocaleString(), " tokens"],
    [cost, leftCost, ""],
  ]
  const parts = amounts.filter(([most]) => most !== undefined)
  if (parts.some(([, left]) => left === undefined)) return `at most ${parts.map(([most, , unit]) => most + unit).join(" and ")} a ${per}`
  return parts.map(([most, left, unit]) => `${left} of ${most}${unit}`).join(" and ") + (per === "owner/day" ? " left today" : " left")
}
