// The rest of a budget, in a few words.

import { plural } from "./dom.js"

/** Return whether nothing is left of the budget of a thread. */
export const isUsedUp = (budget) => budget?.per === "thread" && [budget.left_tokens, budget.left_cost].some((left) => Number(left ?? 1) <= 0)

/** Return the rest of a budget, or the limit of each run or thread if it is of no single one. */
export function leftOf({ per, tokens, left_tokens: leftTokens, cost, left_cost: leftCost }) {
  const amounts = [
    [tokens && plural(tokens, "token"), leftTokens?.toLocaleString()],
    [cost, leftCost],
  ]
  const parts = amounts.filter(([most]) => most !== undefined)
  if (parts.some(([, left]) => left === undefined)) return `at most ${parts.map(([most]) => most).join(" and ")} a ${per}`
  return parts.map(([most, left]) => `${left} of ${most}`).join(" and ") + (per === "owner/day" ? " left today" : " left")
}
