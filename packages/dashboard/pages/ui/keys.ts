/** Keys of a page: single letters, or `g` and a letter to go to a page. They do nothing while the user writes. */
import { useEffect, useRef } from "react"

export type Keys = Readonly<Record<string, () => void>>

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.matches("input, textarea, select") || target.isContentEditable)

/** A dialog owns the keyboard. */
const isCovered = (): boolean => document.querySelector("dialog[open]") !== null

const prefixMillis = 1200

/** The keys `g` and `m`, one after the other, have the name "g m". */
export const useKeys = (keys: Keys): void => {
  const current = useRef(keys)
  useEffect(() => {
    current.current = keys
  })
  useEffect(() => {
    let prefix = ""
    let timer: ReturnType<typeof setTimeout> | undefined
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return
      if (isWriting(event.target) || isCovered()) return
      const known = current.current
      const name = prefix === "" ? event.key : `${prefix} ${event.key}`
      prefix = ""
      clearTimeout(timer)
      const act = known[name]
      if (act !== undefined) {
        event.preventDefault()
        act()
      } else if (Object.keys(known).some((each) => each.startsWith(`${event.key} `))) {
        prefix = event.key
        timer = setTimeout(() => {
          prefix = ""
        }, prefixMillis)
      }
    }
    addEventListener("keydown", pressed)
    return () => {
      removeEventListener("keydown", pressed)
      clearTimeout(timer)
    }
  }, [])
}
