/** A figure with its name and a sentence, and the way to the messages that it counts. */
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import type { MessageSearch } from "../messages/messageSearch.ts"

export const Figure = ({
  about,
  children,
  list,
  tone = "",
  name,
}: {
  name: string
  about: string
  tone?: string
  /** The messages that it counts. */
  list?: { readonly params: { readonly workspaceId: string }; readonly search: MessageSearch }
  children: ReactNode
}) => (
  <div className={`relative flex flex-col bg-surface p-4 ${list ? "hover:bg-sunken" : ""}`}>
    <dt className="text-xs text-soft">{name}</dt>
    <dd className={`figure pt-1 text-figure font-semibold ${tone}`}>
      {list === undefined ? (
        children
      ) : (
        <Link to="/w/$workspaceId/messages" {...list} className="after:absolute after:inset-0">
          {children}
        </Link>
      )}
    </dd>
    <dd className="text-xs text-faint">{about}</dd>
  </div>
)
