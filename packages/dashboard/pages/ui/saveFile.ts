/** Gives the user a file that the page has. */
export const saveFile = (name: string, content: Blob): void => {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  // The browser has begun to save by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
