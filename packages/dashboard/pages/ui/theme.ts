/** Light or dark: the system's, unless the user chose. This browser keeps that choice. */
const storageKey = "theme"

export const applyTheme = (): void => {
  const stored = localStorage.getItem(storageKey)
  if (stored === "light" || stored === "dark") document.documentElement.dataset["theme"] = stored
}

export const changeTheme = (): void => {
  const root = document.documentElement
  const now =
    root.dataset["theme"] ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")
  const next = now === "dark" ? "light" : "dark"
  root.dataset["theme"] = next
  localStorage.setItem(storageKey, next)
}
