/** A part of a page with a heading of its own, a sentence, and at most one action. */
import { useId } from "react"
import type { ReactNode } from "react"

export const Section = ({
  about,
  action,
  children,
  title,
}: {
  title: string
  about?: ReactNode
  action?: ReactNode
  children: ReactNode
}) => {
  const heading = useId()
  return (
    <section aria-labelledby={heading} className="flex flex-col gap-3">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="mr-auto min-w-0">
          <h2 id={heading} className="text-lg font-semibold">
            {title}
          </h2>
          {about && <p className="text-sm text-soft">{about}</p>}
        </div>
        {action}
      </header>
      {children}
    </section>
  )
}
