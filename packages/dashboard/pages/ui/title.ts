/** The title of the document, by which tabs and screen readers tell pages apart. */
import { useEffect } from "react"
import { shellWords as words } from "./words.ts"

export const useTitle = (title: string): void => {
  useEffect(() => {
    document.title = words.titleOf(title)
  }, [title])
}
