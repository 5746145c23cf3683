/** Light or dark: the system's, unless the user chose; this browser keeps nothing but that choice. */
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
