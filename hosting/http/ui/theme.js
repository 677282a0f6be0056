// Light or dark: as the system has it, until the user chooses.

const KEPT = "agents.theme"
const root = document.documentElement

const isDark = () => root.dataset.theme === "dark" || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches)

/** Apply the earlier choice. */
export function beginTheme() {
  const kept = localStorage.getItem(KEPT)
  if (kept) root.dataset.theme = kept
}

/** Change to the other one, and keep that. */
export function changeTheme() {
  root.dataset.theme = isDark() ? "light" : "dark"
  localStorage.setItem(KEPT, root.dataset.theme)
}
