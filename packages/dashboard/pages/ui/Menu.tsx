/** A button that opens controls below it. The platform's own `details` holds its state; Escape and a press elsewhere close it. */
import { useEffect, useRef } from "react"
import type { KeyboardEvent, ReactNode } from "react"
import { Icon } from "./Icon.tsx"

export const Menu = ({
  children,
  count = 0,
  name,
}: {
  name: string
  /** How many of its controls are set. */
  count?: number
  children: ReactNode
}) => {
  const details = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const pressed = ({ target }: PointerEvent) => {
      const isInside = target instanceof Node && details.current?.contains(target)
      if (details.current !== null && !isInside) details.current.open = false
    }
    addEventListener("pointerdown", pressed)
    return () => removeEventListener("pointerdown", pressed)
  }, [])
  const close = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || details.current?.open !== true) return
    // The page would close its panel.
    event.stopPropagation()
    details.current.open = false
    details.current.querySelector("summary")?.focus()
  }
  return (
    // What its controls do not take of the keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <details ref={details} onKeyDown={close} className="md:relative">
      <summary className="control cursor-pointer list-none hover:bg-sunken [&::-webkit-details-marker]:hidden">
        {name}
        {count > 0 && (
          <span className="rounded-full bg-accent px-1.5 text-2xs font-semibold text-on-accent tabular-nums">
            {count}
          </span>
        )}
        <Icon name="chevron" className="-mr-1 rotate-90 text-faint" />
      </summary>
      <div className="over absolute z-10 mt-1 flex w-64 flex-col gap-3 p-3 max-md:inset-x-0 max-md:w-auto">
        {children}
      </div>
    </details>
  )
}
