/** Light or dark: the system's, unless the user chose. This browser keeps that choice, and what it sent of files. */
const place = "theme"

export const applyTheme = (): void => {
  const kept = localStorage.getItem(place)
  if (kept === "light" || kept === "dark") document.documentElement.dataset["theme"] = kept
}

export const changeTheme = (): void => {
  const root = document.documentElement
  const now =
    root.dataset["theme"] ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")
  const next = now === "dark" ? "light" : "dark"
  root.dataset["theme"] = next
  localStorage.setItem(place, next)
}
