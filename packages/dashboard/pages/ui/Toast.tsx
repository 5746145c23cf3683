/** What just happened, at the bottom of the page: with the way to it, or the way back. */
import { useLocation } from "@tanstack/react-router"
import { useEffect, useState, useSyncExternalStore } from "react"
import type { ReactNode } from "react"
import { Icon } from "./Icon.tsx"
import { Button } from "./parts.tsx"
import { toastLabels as labels } from "./words.ts"

interface Toast {
  readonly content: ReactNode
  /** Takes it back, where it can be taken back. */
  readonly undo?: () => void
}

let toast: Toast | null = null
const listeners = new Set<() => void>()

const show = (next: Toast | null): void => {
  toast = next
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Shows it in place of the last one. */
export const notify = (content: ReactNode, undo?: () => void): void =>
  show(undo === undefined ? { content } : { content, undo })

/** Long enough to read it and to reach its button. */
const shownMillis = 15_000

export const Toasts = () => {
  const current = useSyncExternalStore(subscribe, () => toast)
  const [isHeld, setHeld] = useState(false)
  const { pathname } = useLocation()
  // It speaks of the page on which it happened.
  useEffect(() => () => show(null), [pathname])
  useEffect(() => {
    if (current === null || isHeld) return
    const timer = setTimeout(() => show(null), shownMillis)
    return () => clearTimeout(timer)
  }, [current, isHeld])
  return (
    <div
      role="status"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
      className="fixed inset-x-0 bottom-4 z-20 mx-auto w-fit max-w-[calc(100vw-2rem)]"
    >
      {current !== null && (
        <div className="over arrive flex items-center gap-2 py-1.5 pr-1.5 pl-4 text-sm">
          <Icon name="tick" className="text-accent" />
          <p className="min-w-0">{current.content}</p>
          {current.undo && (
            <Button
              variant="quiet"
              className="font-medium text-accent!"
              onClick={() => {
                current.undo?.()
                show(null)
              }}
            >
              {labels.undo}
            </Button>
          )}
          <Button variant="quiet" aria-label={labels.dismiss} onClick={() => show(null)}>
            <Icon name="cross" />
          </Button>
        </div>
      )}
    </div>
  )
}
