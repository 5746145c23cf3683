/**
 * A message's status as a word, a sign and a colour, so that none of them is needed to read it. In
 * lists only what failed or expired has a ground: a page of messages that went well stays calm.
 */
import type { Message } from "@messaging-service/client"
import { Icon } from "../ui/Icon.tsx"
import type { IconName } from "../ui/Icon.tsx"

export type Status = Message["status"]

interface Check {
  readonly icon: IconName
  readonly ink: string
  readonly wash: string
}

export const statuses: Readonly<Record<Status, Check>> = {
  queued: { icon: "clock", ink: "text-soft", wash: "bg-sunken" },
  scheduled: { icon: "calendar", ink: "text-violet", wash: "bg-violet-wash" },
  sent: { icon: "tick", ink: "text-blue", wash: "bg-blue-wash" },
  delivered: { icon: "ticks", ink: "text-blue", wash: "bg-blue-wash" },
  read: { icon: "ticks", ink: "text-accent", wash: "bg-accent-wash" },
  failed: { icon: "cross", ink: "text-red", wash: "bg-red-wash" },
  cancelled: { icon: "slash", ink: "text-soft", wash: "bg-sunken" },
  expired: { icon: "hourglass", ink: "text-amber", wash: "bg-amber-wash" },
}

/** Those with a ground in a list. */
const loud: ReadonlyArray<Status> = ["failed", "expired"]

export const MessageStatus = ({ quiet = false, status }: { status: Status; quiet?: boolean }) => {
  const { icon, ink, wash } = statuses[status]
  const hasGround = !quiet || loud.includes(status)
  return (
    <span
      className={`inline-flex h-6 items-center gap-1.5 text-xs font-medium ${ink} ${hasGround ? `rounded-full px-2 ${wash}` : "px-2"} ${quiet ? "-ml-2" : ""}`}
    >
      <Icon name={icon} />
      {status}
    </span>
  )
}
