/** Below the field of recipients: the last ones and the contacts that match what is being typed. */
import { useQuery } from "@tanstack/react-query"
import type { KeyboardEvent, MouseEvent } from "react"
import { operationQuery } from "../api/call.ts"
import { getLastPart, parseRecipients, suggestRecipients } from "./recipients.ts"
import { newMessageLabels as labels } from "./words.ts"

const visible = 6

/** One stop for Tab, on the way from the recipients to the text: arrows go from one to the next. */
const goByArrows = (event: KeyboardEvent<HTMLDivElement>) => {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
  if (by === undefined) return
  const buttons = [...event.currentTarget.querySelectorAll("button")]
  const at = buttons.findIndex((button) => button === document.activeElement)
  const next = buttons[(at + by + buttons.length) % buttons.length]
  event.preventDefault()
  next?.focus()
}

export const Suggestions = ({
  id,
  setTo,
  to,
}: {
  id: number
  to: string
  setTo: (to: string) => void
}) => {
  const path = { id }
  const messages = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/messages", { path, query: { limit: 20 } }),
  )
  const contacts = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/contacts", { path, query: { limit: 100 } }),
  )
  const found = suggestRecipients(to, messages.data?.data ?? [], contacts.data?.data ?? [])
  if (found.length === 0) return null
  const add = (address: string) => (event: MouseEvent<HTMLButtonElement>) => {
    const field = event.currentTarget.form?.elements.namedItem("to")
    setTo(`${to.slice(0, to.length - getLastPart(to).length)}${address}\n`)
    if (field instanceof HTMLTextAreaElement) field.focus()
  }
  return (
    <div
      role="toolbar"
      aria-label={labels.suggestions}
      onKeyDown={goByArrows}
      className="-mt-2 flex flex-wrap items-center gap-1.5 text-xs"
    >
      <span className="text-soft">
        {parseRecipients(to).length === 0 ? labels.suggested : labels.suggestedAlso}
      </span>
      {found.slice(0, visible).map(({ address, name }, index) => (
        <button
          key={address}
          type="button"
          tabIndex={index === 0 ? 0 : -1}
          onClick={add(address)}
          className="max-w-full cursor-pointer truncate rounded-full border border-edge px-2.5 py-1 hover:bg-sunken"
        >
          {name} <span className="font-mono">{address}</span>
        </button>
      ))}
    </div>
  )
}
