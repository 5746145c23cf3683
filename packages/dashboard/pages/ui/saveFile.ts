/** Gives the user a file that the page made. */
export const saveFile = (name: string, content: string, type: string): void => {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(new Blob([content], { type }))
  link.download = name
  link.click()
  // The browser has begun to save by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
